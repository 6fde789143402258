// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// demoPatience bounds the part of the demonstration that waits for nobody.
const demoPatience = 2 * time.Minute

func (a *app) demoCommand() *cobra.Command {
	var dir string
	var yes bool
	c := &cobra.Command{
		Use: "demo", Short: "See it work: lost answers, a crash, duplicates, a person who decides", Args: cobra.NoArgs,
		Long: `Starts a payment provider as a process of its own, which counts what it receives,
and plays one script against it twice: directly, and through deed. The agent in the
script repeats a call whenever it gets no clear answer, as MCP tells clients to.
Then it asks for a refund that a person must approve: you, in the console or on
the command line. With --yes, or without a terminal, the demonstration approves it
by itself.`,
		Example: "  deed demo\n  deed demo --yes\n  deed demo --dir /tmp/deed-demo",
		RunE: action(func(ctx context.Context, _ []string) error {
			kept := dir != ""
			folder, err := demoFolder(dir)
			if err != nil {
				return err
			}
			if !kept {
				defer func() { _ = os.RemoveAll(folder) }()
			}
			results, err := a.playDemo(ctx, folder)
			if err != nil {
				return err
			}
			return a.showDemo(ctx, results, &demoPerson{folder: filepath.Join(folder, "with-a-person"), alone: yes || a.json || !attended()}, folder, kept)
		}),
	}
	c.Flags().StringVar(&dir, "dir", "", "keep ledgers and configuration in this new or empty `folder`")
	c.Flags().BoolVar(&yes, "yes", false, "approve the refund by itself, wait for nobody")
	_ = c.MarkFlagDirname("dir")
	return c
}

// demoFolder makes the folder for ledgers; one with old ledgers in it would
// spoil the counts.
func demoFolder(dir string) (string, error) {
	if dir == "" {
		folder, err := os.MkdirTemp("", "deed-demo-")
		if err != nil {
			return "", fmt.Errorf("demo: %w; nothing was started", err)
		}
		return folder, nil
	}
	folder, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return "", fail(exitUsage, "demo: %w; nothing was started", err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		return "", fail(exitUsage, "demo: %s is not empty; nothing was started; name a new folder", folder)
	}
	return folder, nil
}

// playDemo plays the script on both sides.
func (a *app) playDemo(ctx context.Context, folder string) ([]demoResult, error) {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	binary, err := itself()
	if err != nil {
		return nil, err
	}
	var results []demoResult
	for i, side := range []demoSide{{name: "without deed"}, {name: "with deed", guarded: true}} {
		side.binary, side.folder = binary, filepath.Join(folder, strings.ReplaceAll(side.name, " ", "-"))
		played, err := side.play(ctx)
		if err != nil {
			return nil, fmt.Errorf("demo, %s: %w", side.name, err)
		}
		if i == 0 {
			results = make([]demoResult, len(played))
		}
		for j, p := range played {
			results[j].Step = p.step
			if side.guarded {
				results[j].With = p.count
			} else {
				results[j].Without = p.count
			}
		}
	}
	return results, nil
}

// demoResult is what one step came to on both sides.
type demoResult struct {
	Step    string    `json:"step"`
	Without demoCount `json:"without_deed"`
	With    demoCount `json:"with_deed"`
}

// demoCount is what the provider counted, and what the agent was answered.
type demoCount struct {
	Requests int      `json:"requests"`
	Effects  int      `json:"effects"`
	Answers  []string `json:"answers"`
}

func (a *app) showDemo(ctx context.Context, results []demoResult, person *demoPerson, folder string, kept bool) error {
	var without, with demoCount
	rows := [][]string{{"", "WITHOUT DEED", "WITH DEED", ""}, {"WHAT HAPPENS TO ONE PAYMENT", "PAID", "PAID", "WHAT DEED ANSWERED"}}
	for _, r := range results {
		rows = append(rows, []string{r.Step, times(r.Without.Effects), times(r.With.Effects), strings.Join(counted(r.With.Answers), ", ")})
		without.Requests, without.Effects = without.Requests+r.Without.Requests, without.Effects+r.Without.Effects
		with.Requests, with.Effects = with.Requests+r.With.Requests, with.Effects+r.With.Effects
	}
	if !a.json {
		lines := append(table(rows), "",
			fmt.Sprintf("%d payments were wanted. The provider's own ledger says:", len(results)),
			fmt.Sprintf("  without deed  %d requests received, %d payments made", without.Requests, without.Effects),
			fmt.Sprintf("  with deed     %d requests received, %d payments made", with.Requests, with.Effects), "",
			"Uncertain means: sent, no clear answer. deed does not send it again; a person looks and decides.")
		if kept {
			lines = append(lines, "  deed ops list --config "+shellWord(filepath.Join(folder, "with-deed", "deed.yaml")))
		} else {
			lines = append(lines, "To look at that ledger: deed demo --dir FOLDER, then deed ops list --config FOLDER/with-deed/deed.yaml")
		}
		if err := a.print(lines...); err != nil {
			return err
		}
	}
	consent, err := a.playPerson(ctx, person)
	if err != nil {
		return fmt.Errorf("demo, a person decides: %w", err)
	}
	if a.json {
		err = a.printJSON(map[string]any{
			"steps": results, "wanted": len(results), "without_deed": without.Effects, "with_deed": with.Effects, "person": consent,
		})
	} else {
		err = a.print(consent.lines()...)
	}
	switch {
	case err != nil:
		return err
	case with.Effects > len(results), consent.After.Effects > 1:
		return exitWith(exitDuplicate)
	case with.Effects < len(results):
		return errors.New("demo: a payment is missing; this should not happen, please report it")
	}
	return nil
}

func (a *app) playPerson(ctx context.Context, person *demoPerson) (demoConsent, error) {
	binary, err := itself()
	if err != nil {
		return demoConsent{}, err
	}
	person.binary = binary
	return person.play(ctx, a)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// counted joins equal neighbours: "replay x19".
func counted(answers []string) []string {
	var parts []string
	for i := 0; i < len(answers); {
		n := 1
		for i+n < len(answers) && answers[i+n] == answers[i] {
			n++
		}
		part := answers[i]
		if n > 1 {
			part = fmt.Sprintf("%s x%d", part, n)
		}
		parts = append(parts, part)
		i += n
	}
	return parts
}
