// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/sqlite"
)

const shortRules = `ledger: sqlite:ledger.db
upstreams:
  pay: {command: [no-such-server]}
budgets:
  refunds: {limit: 100.00, currency: EUR, window: 24h}
tools:
  pay/refund: {effect: non_idempotent, approval: required, matter: [/order], budget: {name: refunds, amount: /amount, currency: EUR}}
  pay/goodwill: {effect: non_idempotent, budget: {name: refunds, amount: /amount, currency: EUR}}
`

func TestWhoApprovesWhatTheBudgetHasNoRoomForIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		spent int
		want  string
	}{
		"room":    {40, ""},
		"no room": {60, "it is not sent until its budget has room: 60.00 EUR does not fit budget refunds: 40.00 left, 0.00 held by unconfirmed operations; it lapses "},
	} {
		t.Run(name, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "deed.yaml")
			if err := os.WriteFile(config, []byte(shortRules), 0o600); err != nil {
				t.Fatal(err)
			}
			op := proposed(t, config, c.spent)
			room := fmt.Sprintf("60.00 EUR of budget refunds, which has %d.00 left; nothing is held for it until it is sent", 100-c.spent)
			if c.want != "" {
				room += ", and for that there is no room"
			}
			holds(t, deedCommand(t, "ops", "show", string(op.ID), "--config", config), "because   every call of this tool waits (approval: of its entry)\n", "costs     "+room+"\n")
			ledger := filepath.Join(filepath.Dir(config), "ledger.db")
			holds(t, deedCommand(t, "ops", "show", string(op.ID), "--ledger", ledger), "because   the configuration of its gateway says so; with --config FILE the rule is named\n")
			holds(t, deedCommand(t, "ops", "list", "--status", "awaiting_approval", "--ledger", ledger), "ARGUMENTS", string(op.Arguments), " 1042 ")
			got := deedCommand(t, "ops", "approve", string(op.ID), "--digest", string(op.Approval.Digest), "--config", config)
			holds(t, got, string(op.ID)+" is authorized", "\na gateway that has its tool and runs on this ledger sends it by itself, within seconds, until ",
				"\nwhere none runs: deed ops run "+string(op.ID)+" --config "+config+"\n")
			if c.want == "" {
				if strings.Contains(got, "budget") {
					t.Errorf("a budget with room is spoken of: %s", got)
				}
				return
			}
			holds(t, got, "deed: "+string(op.ID)+": "+c.want, "; deed budgets list --config "+config+" shows the budget\n")
			left := regexp.MustCompile(`refunds.* 40\.00`)
			if list := deedCommand(t, "budgets", "list", "--config", config); !left.MatchString(list) {
				t.Errorf("the budget is %s", list)
			}
		})
	}
}

func TestWhoApprovesThroughADaemonIsToldOfTheBudgetToo(t *testing.T) {
	for name, c := range map[string]struct {
		spent int
		want  string
	}{
		"room":    {40, ""},
		"no room": {60, "it is not sent until its budget has room: 60.00 EUR does not fit budget refunds: 40.00 left, 0.00 held by unconfirmed operations; it lapses "},
	} {
		t.Run(name, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "deed.yaml")
			sum := sha256.Sum256([]byte("a token of ada's"))
			daemon := fmt.Sprintf("listen: 127.0.0.1:0\nauth: {tokens: [{sha256: %x, tenant: default, actor: ada, rights: [read, approve]}]}\n", sum)
			if err := os.WriteFile(config, []byte(shortRules+daemon), 0o600); err != nil {
				t.Fatal(err)
			}
			op := proposed(t, config, c.spent)
			server := serving(t, config)
			t.Setenv("DEED_TOKEN", "a token of ada's")
			got := deedCommand(t, "ops", "approve", string(op.ID), "--digest", string(op.Approval.Digest), "--server", server)
			if c.want == "" {
				if strings.Contains(got, "budget") {
					t.Errorf("a budget with room is spoken of: %s", got)
				}
				return
			}
			holds(t, got, "deed: "+string(op.ID)+": "+c.want, "; deed budgets list --server "+server+" shows the budget\n")
		})
	}
}

// proposed makes a proposal of 60, and spends something else afterwards.
func proposed(t *testing.T, file string, spent int) *deed.Operation {
	t.Helper()
	config, err := policy.Load(file, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := sqlite.Open(t.Context(), config.Ledger.Path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: config.Policy()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool deed.Tool, amount int) (deed.Answer, *deed.Grant) {
		answer, grant, err := rt.Claim(t.Context(), deed.Call{
			Principal: deed.Principal{Tenant: "default", Actor: "support", Rights: []deed.Right{deed.RightCall}},
			Tool:      tool, Key: deed.OperationKey("short:" + tool.Name() + ":first"), Arguments: fmt.Appendf(nil, `{"amount":%d,"order":"1042"}`, amount),
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer, grant
	}
	waits, _ := call("pay/refund", 60)
	_, grant := call("pay/goodwill", spent)
	if waits.Decision != deed.AwaitingApproval || grant == nil {
		t.Fatalf("the proposal is %+v, the other call was granted: %t", waits, grant != nil)
	}
	if _, err := rt.Settle(t.Context(), grant, deed.Outcome{Kind: deed.OutcomeSuccess}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rt.Close(t.Context()), ledger.Close()); err != nil {
		t.Fatal(err)
	}
	return waits.Operation
}
