// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

func (a *app) opsApproveCommand() *cobra.Command {
	at := place{reads: true}
	var digest, reason, edited string
	c := &cobra.Command{
		Use: "approve OPERATION --digest DIGEST", Short: "Consent to exactly the proposal that the digest names", Args: cobra.ExactArgs(1),
		Long: `Consents to the proposal that waits under OPERATION. The digest is the one that
deed ops show prints: it stands for every byte that will be sent, where it goes, and
until when. A proposal that has changed since has another one and is not approved.

--edit replaces the arguments: a new operation takes the place of the one that
waits, and the caller's key answers as the new one. Nobody approves their own
request unless the configuration says so. With the --config of its gateway, or by
--server, you are told when its budget has no room for it: it is then sent once
there is some.`,
		Example: `  deed ops approve op_01KB7Q5W2M9X4T6R8V0C3E5G7H --digest sha256:9f2c... --reason "seen the order"
  deed ops approve op_01KB7Q5W2M9X4T6R8V0C3E5G7H --digest sha256:9f2c... --edit smaller.json`,
		RunE: action(func(ctx context.Context, args []string) error {
			var arguments []byte
			if edited != "" {
				doc, err := os.ReadFile(edited)
				if err != nil {
					return fail(exitUsage, "--edit: %w; nothing was decided; name a file that holds the arguments as a JSON object", err)
				}
				arguments = doc
			}
			return a.decide(ctx, at, args[0], func(d desk, id deed.OperationID) (*deed.Operation, error) {
				op, err := (*deed.Operation)(nil), error(nil)
				if arguments != nil {
					op, err = d.EditAndApprove(ctx, id, deed.Digest(digest), arguments, reason)
				} else {
					op, err = d.Approve(ctx, id, deed.Consent{Digest: deed.Digest(digest), Reason: reason})
				}
				if err == nil {
					if fence := d.Outlook(op).fence; fence != nil {
						a.note(string(op.ID) + ": " + fenceWarning(op, fence) + ": " + at.command("ops deny", string(op.ID), "--digest "+string(op.Approval.Digest), `--reason "why"`))
					}
					if text := d.Short(ctx, op); text != "" {
						a.note(string(op.ID) + ": " + text)
					}
				}
				return op, err
			})
		}),
	}
	at.operatorFlags(c)
	c.Flags().StringVar(&digest, "digest", "", "the proposal's `digest`, from deed ops show")
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the history; may be left out")
	c.Flags().StringVar(&edited, "edit", "", "`file` with other arguments to send instead")
	_ = c.MarkFlagRequired("digest")
	return c
}

func (a *app) opsDenyCommand() *cobra.Command {
	at := place{reads: true}
	var digest, reason string
	c := &cobra.Command{
		Use: "deny OPERATION --digest DIGEST --reason TEXT", Short: "Refuse the proposal that the digest names, for good", Args: cobra.ExactArgs(1),
		Long: `Refuses the proposal that waits under OPERATION, or withdraws an approval under
which nothing was sent yet. That is final for this operation: the agent is told
the reason, and the same action under a fresh key of a model is refused for a day.`,
		Example: `  deed ops deny op_01KB7Q5W2M9X4T6R8V0C3E5G7H --digest sha256:9f2c... --reason "the order was never paid"`,
		RunE: action(func(ctx context.Context, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return fail(exitUsage, "--reason is empty; nothing was decided; the agent is told why")
			}
			return a.decide(ctx, at, args[0], func(d desk, id deed.OperationID) (*deed.Operation, error) {
				return d.Deny(ctx, id, deed.Consent{Digest: deed.Digest(digest), Reason: reason})
			})
		}),
	}
	at.operatorFlags(c)
	c.Flags().StringVar(&digest, "digest", "", "the proposal's `digest`, from deed ops show")
	c.Flags().StringVar(&reason, "reason", "", "why; the agent is told")
	_ = c.MarkFlagRequired("digest")
	_ = c.MarkFlagRequired("reason")
	return c
}

func (a *app) opsReconcileCommand() *cobra.Command {
	var at place
	c := &cobra.Command{
		Use: "reconcile OPERATION", Short: "Look an uncertain operation up at its provider, once, now", Args: cobra.ExactArgs(1),
		Long: `Reads at the provider whether the operation happened, in the way that its tool's
entry says (reconcile:). Nothing is sent again. One object that carries the
operation's own mark commits it; that nothing is found counts only after the
times that the tool declares, and several objects are a person's to sort out.`,
		Example: "  deed ops reconcile op_01KB7Q5W2M9X4T6R8V0C3E5G7H --config deed.yaml",
		RunE: action(func(ctx context.Context, args []string) (err error) {
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			finding, err := d.Reconcile(ctx, deed.OperationID(args[0]))
			if err != nil {
				return at.failedDecision(err, args[0], d.Now())
			}
			if a.json {
				return a.printJSON(finding.shown(d.Now()))
			}
			return a.print(finding.lines(d.Now())...)
		}),
	}
	at.operatorFlags(c)
	return c
}

func (a *app) opsRunCommand() *cobra.Command {
	var at place
	c := &cobra.Command{
		Use: "run OPERATION", Short: "Send the frozen snapshot of an authorized or retryable operation", Args: cobra.ExactArgs(1),
		Long: `Begins the next attempt of an operation with the bytes that were frozen: from
authorized, from a failure that may be retried, and from uncertain only where the
tool is idempotent or the same bytes go out under a provider key that the provider
still remembers. Where it would be a second effect, it is refused.`,
		Example: "  deed ops run op_01KB7Q5W2M9X4T6R8V0C3E5G7H --config deed.yaml",
		RunE: action(func(ctx context.Context, args []string) (err error) {
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			answer, err := d.Run(ctx, deed.OperationID(args[0]))
			if err != nil {
				return at.failedDecision(err, args[0], d.Now())
			}
			if a.json {
				err = a.printJSON(answer.shown(d.Now()))
			} else {
				err = a.print(answer.lines(d.Now(), at)...)
			}
			if err != nil {
				return err
			}
			if answer.decision != deed.Execute {
				return exitWith(exitRefused)
			}
			return nil
		}),
	}
	at.operatorFlags(c)
	return c
}
