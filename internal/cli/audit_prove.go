// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
)

func (a *app) auditProveCommand() *cobra.Command {
	var dir, key string
	c := &cobra.Command{
		Use: "prove OPERATION --log FOLDER --verifier KEY", Short: "Write down what a log has about one operation", Args: cobra.ExactArgs(1),
		Long: `Prints, as JSON, every record about the operation with its path to the root of the
latest checkpoint. Whoever has the verifier key can check it without the ledger and
without the log: deed audit check.`,
		Example: "  deed audit prove op_01M8MAWDAQATERPGTGZS4YNB6H --log audit --verifier audit.key.pub > proof.json",
		RunE: action(func(ctx context.Context, args []string) error {
			verifier, err := verifierKey(key)
			if err != nil {
				return err
			}
			log, err := audit.Open(dir, verifier)
			if err != nil {
				return toldAudit(err)
			}
			proof, err := log.Prove(ctx, deed.OperationID(args[0]))
			if err != nil {
				return toldAudit(err)
			}
			return a.printJSON(proof)
		}),
	}
	logFlag(c, &dir)
	c.Flags().StringVar(&key, "verifier", "", "verifier `key` of the log, or its file")
	_ = c.MarkFlagRequired("verifier")
	return c
}

func (a *app) auditCheckCommand() *cobra.Command {
	var key string
	c := &cobra.Command{
		Use: "check FILE --verifier KEY", Short: "Check a proof without log and ledger", Args: cobra.ExactArgs(1),
		Long: `Checks what deed audit prove wrote; - reads standard input. It shows that these
records are in the log, in this order. Whether there are others about the operation
can only be told from the whole log: deed audit verify.`,
		Example: "  deed audit check proof.json --verifier audit.example.org/acme+1c22d8a2+AZ...",
		RunE: action(func(_ context.Context, args []string) error {
			verifier, err := verifierKey(key)
			if err != nil {
				return err
			}
			return a.checkProof(args[0], verifier)
		}),
	}
	c.Flags().StringVar(&key, "verifier", "", "verifier `key` of the log, or its file")
	_ = c.MarkFlagRequired("verifier")
	return c
}

func (a *app) checkProof(file, verifier string) error {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(a.Stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return fail(exitUsage, "the proof: %w; nothing was checked", err)
	}
	var proof audit.Proof
	if err := json.Unmarshal(text, &proof); err != nil {
		return fail(exitUsage, "the proof %s is not what deed audit prove writes: %w; nothing was checked", file, err)
	}
	records, at, err := proof.Check(verifier)
	if err != nil {
		return toldAudit(err)
	}
	if a.json {
		return a.printJSON(map[string]any{"log": at.Name, "size": at.Size, "root": at.Root, "operation": proof.Operation, "records": records})
	}
	rows := [][]string{{"RECORD", "AT", "EVENT", "ATTEMPT", "STATUS", "ACTOR"}}
	count := map[deed.EventName]int64{}
	for i, r := range records {
		attempt := ""
		if r.Attempt > 0 {
			attempt = fmt.Sprint(r.Attempt)
		}
		rows = append(rows, []string{fmt.Sprint(proof.Records[i].Number), r.At.Format(time.RFC3339), string(r.Name), orDash(attempt), orDash(string(r.To)), string(r.Actor)})
		count[r.Name]++
	}
	return a.print(append(table(rows), "",
		fmt.Sprintf("%s about %s in the log %s of %d records, as %s signed it:", some(int64(len(records)), "record"), plain(string(proof.Operation)), at.Name, at.Size, at.Name),
		fmt.Sprintf("%s begun, %s answered from the record, %s refused", some(count[deed.EventBegun]+count[deed.EventContinued], "attempt"), some(count[deed.EventName(deed.Replay)], "repeat"), some(count[deed.EventName(deed.Conflict)], "conflict")),
		"that there are no others can only be told from the whole log: deed audit verify")...)
}
