// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/storetest"
)

// TestWhatIsUncertainIsListedWithAllThatIsKnownOfIt looks at the list of what is in
// doubt, as text and as JSON.
func TestWhatIsUncertainIsListedWithAllThatIsKnownOfIt(t *testing.T) {
	s := seed(t)
	holds(t, s.deed("ops", "list", "--status", "uncertain"),
		"TOOL", "ACTOR", "UNCERTAIN FOR", "SENT", "LOOKED UP", "pay/refund", "support", `attempt 1, `, `: {"about":"refund","amount":12.5}`, "absent by list ")
	var page struct {
		Operations []struct {
			ID     deed.OperationID `json:"operation_id"`
			Tool   deed.Tool
			Actor  deed.Actor
			Status deed.Status `json:"effective_status"`
			Doubt  *struct {
				Since      time.Time
				AgeSeconds *int64 `json:"age_seconds"`
				Attempt    int
				SentAt     time.Time `json:"sent_at"`
				SendBy     time.Time `json:"send_by"`
				Sent       struct{ About string }
				LookedUp   *struct {
					By, Answer string
					At         time.Time
					Tries      int
				} `json:"looked_up"`
			}
		}
	}
	if err := json.Unmarshal([]byte(s.deed("ops", "list", "--json")), &page); err != nil {
		t.Fatal(err)
	}
	for _, op := range page.Operations {
		if (op.Doubt != nil) != (op.Status == deed.StatusUncertain) {
			t.Errorf("%s is %s, and its doubt %+v", op.ID, op.Status, op.Doubt)
		}
		if op.ID != s.ids["refund"] {
			continue
		}
		d := op.Doubt
		if d.AgeSeconds == nil || d.Since.IsZero() || d.Attempt != 1 || d.SentAt.IsZero() || d.SendBy.IsZero() || d.Sent.About != "refund" || op.Tool != "pay/refund" || op.Actor != "support" {
			t.Errorf("%+v", d)
		}
		if l := d.LookedUp; l == nil || l.By != "list" || l.Answer != "absent" || l.At.IsZero() || l.Tries != 1 {
			t.Errorf("looked up %+v", l)
		}
	}
}

// TestAFailureThatALookUpSettledNamesTheLookUp has the look-up miss twice behind
// the gate of the tool's times.
func TestAFailureThatALookUpSettledNamesTheLookUp(t *testing.T) {
	dir := t.TempDir()
	s := &seeded{t: t, config: filepath.Join(dir, "deed.yaml"), ledger: filepath.Join(dir, "ledger.db"), ids: map[string]deed.OperationID{}}
	if err := os.WriteFile(s.config, []byte(seededRules), 0o640); err != nil {
		t.Fatal(err)
	}
	clock := storetest.NewClock(time.Now().Add(-24 * time.Hour))
	ledger, err := sqlite.Open(t.Context(), s.ledger, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	rule := deed.DefaultRule("pay/refund")
	rule.GiveUp, rule.MaxProcessing, rule.ReadLag = 48*time.Hour, time.Minute, time.Second
	looks := probes{deed.Verdict{Kind: deed.VerdictAbsent, Strategy: "tool:pay/list", Complete: true}}
	if s.rt, err = deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{"pay/refund": rule}, Reconciler: looks, Clock: clock}); err != nil {
		t.Fatal(err)
	}
	s.call("refund", "pay/refund", deed.Outcome{Kind: deed.OutcomeUnknown, Message: "socket hang up"})
	operator := deed.Principal{Tenant: "default", Actor: "ada", Rights: []deed.Right{deed.RightResolve, deed.RightRead}}
	for range 2 {
		clock.Advance(time.Hour)
		if _, err := s.rt.Reconcile(t.Context(), operator, s.ids["refund"]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.rt.Close(t.Context()), ledger.Close()); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"ops", "list", "--json"}, {"ops", "show", string(s.ids["refund"]), "--json"}} {
		holds(t, s.deed(command...), `"effective_status": "failed"`, `"reason": "absent"`, `"decided_by": "reconcile:tool:pay/list"`)
	}
	holds(t, s.show("refund"), "decided by  reconcile:tool:pay/list")
}
