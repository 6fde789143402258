// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
)

// ownTool is a configuration for a tool server that knows nothing of the test:
// the fixture without a control port, whose ledger file is the only witness.
func ownTool(t *testing.T, bug string) faultkit.ProveOptions {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "deed.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil,
		"ledger: sqlite:never-used.db\nupstreams:\n  shop: {command: [%q, stdio, --dir, %q]}\n  other: {command: [false]}\n", fixture, dir), 0o600))
	return faultkit.ProveOptions{
		Binary: os.Args[0], Fixture: []string{fixture}, Config: config, Tool: "shop/pay.charge", Env: toyEnv(bug),
		Args: json.RawMessage(`{"order_id":"{{n}}","amount":3}`), Stderr: os.Stderr,
		Count: func(context.Context) (int, error) {
			ledger, err := os.ReadFile(filepath.Join(dir, provider.EffectsFile))
			if os.IsNotExist(err) {
				return 0, nil
			}
			return strings.Count(string(ledger), "\n"), err
		},
	}
}

func TestAForeignToolIsProvedWithoutItsHelp(t *testing.T) {
	faultkit.Prove(t, ownTool(t, "none"))
}

func TestTheChecksOfAForeignToolFindPlantedBugs(t *testing.T) {
	for bug, check := range map[string]string{
		"retry": "lost-reply", "send-before-store": "restart", "no-memory": "duplicate",
	} {
		o := ownTool(t, bug)
		o.Only = []string{check}
		report, err := faultkit.ProveTool(t.Context(), o)
		must(t, err)
		if !report.Duplicated() {
			t.Errorf("%s: %+v", bug, report.Rows)
		}
	}
}

func TestWhatCannotCountIsToldBeforeAnythingIsSent(t *testing.T) {
	for want, command := range map[string][]string{
		"printed no number":                  {"echo", "many"},
		"exit status 3: there is no counter": {"sh", "-c", "echo there is no counter >&2; exit 3"},
	} {
		o := ownTool(t, "none")
		effects := o.Count
		o.Count, o.CountCommand = nil, command
		report, err := faultkit.ProveTool(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nothing was sent; it has to print") || len(report.Rows) > 0 {
			t.Errorf("%q: got %+v, %v", command, report, err)
		}
		if n, err := effects(t.Context()); n != 0 || err != nil {
			t.Errorf("%q: %d effects, %v", command, n, err)
		}
	}
}

// What was being played when somebody gave up is not judged: it was cut off by them.
func TestAnInterruptedProofKeepsWhatItHasJudged(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	o := ownTool(t, "none")
	effects, asked := o.Count, 0
	o.Count = func(ctx context.Context) (int, error) {
		if asked++; asked == 4 { // before all, around the first check, before the second
			giveUp()
		}
		return effects(ctx)
	}
	report, err := faultkit.ProveTool(ctx, o)
	if !errors.Is(err, context.Canceled) || len(report.Rows) != 1 || report.Rows[0].Verdict != faultkit.Pass {
		t.Errorf("got %+v, %v", report.Rows, err)
	}
}

func TestWhatCannotBeProvedIsSaidBeforeAnythingStarts(t *testing.T) {
	for name, spoil := range map[string]func(*faultkit.ProveOptions){
		"no slash in the tool": func(o *faultkit.ProveOptions) { o.Tool = "pay.charge" },
		"unknown upstream":     func(o *faultkit.ProveOptions) { o.Tool = "mall/pay.charge" },
		"nothing to change":    func(o *faultkit.ProveOptions) { o.Args = json.RawMessage(`{"a":[]}`) },
		"unknown check":        func(o *faultkit.ProveOptions) { o.Only = []string{"lost"} },
	} {
		o := ownTool(t, "none")
		spoil(&o)
		if _, err := faultkit.ProveTool(t.Context(), o); err == nil || !strings.Contains(err.Error(), "nothing was started") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
