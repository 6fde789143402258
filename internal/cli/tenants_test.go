// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// doubtIn makes a ledger with one uncertain operation of a tenant.
func doubtIn(t *testing.T, tenant deed.Tenant) (path string, id deed.OperationID) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.db")
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := rt.Do(t.Context(), deed.Call{
		Principal: deed.Principal{Tenant: tenant, Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      "payments/refund", Key: deed.OperationKey("refund:order-1042:first"), Arguments: []byte(`{"amount":12}`),
	}, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{}, errors.New("socket hang up")
	})
	if err != nil || answer.Effective != deed.StatusUncertain {
		t.Fatalf("%v %v", answer.Effective, err)
	}
	if err := errors.Join(rt.Close(t.Context()), ledger.Close()); err != nil {
		t.Fatal(err)
	}
	return path, answer.Operation.ID
}

func TestOperatorsSeeEveryTenant(t *testing.T) {
	path, id := doubtIn(t, "acme")
	for _, command := range [][]string{{"status"}, {"ops", "list"}, {"ops", "show", string(id)}, {"doctor"}} {
		if got := deedCommand(t, append(command, "--ledger", path)...); !strings.Contains(got, string(id)) {
			t.Errorf("deed %s says\n%s", strings.Join(command, " "), got)
		}
	}
	if got := deedCommand(t, "ops", "list", "--ledger", path, "--tenant", "other"); !strings.Contains(got, "no operations") {
		t.Errorf("of another tenant it says\n%s", got)
	}
}

func TestAForgottenRemoteIDIsAddedByASecondReceipt(t *testing.T) {
	path, id := doubtIn(t, "acme")
	resolve := func(more ...string) string {
		return deedCommand(t, append([]string{"ops", "resolve", string(id), "--ledger", path, "--committed", "--reason", "seen there"}, more...)...)
	}
	if got := resolve(); !strings.Contains(got, "no receipt names the provider's id") || !strings.Contains(got, "--remote-id ID") {
		t.Errorf("without an id it says\n%s", got)
	}
	if got := resolve("--remote-id", "ref_1"); !strings.Contains(got, "is committed") || !strings.Contains(got, "its receipts name ref_1") {
		t.Errorf("with the id it says\n%s", got)
	}
	if got := deedCommand(t, "ops", "show", string(id), "--ledger", path, "--json"); !strings.Contains(got, `"ref_1"`) || strings.Contains(got, `"diverged": true`) {
		t.Errorf("the ledger says\n%s", got)
	}
	for _, command := range [][]string{{"status"}, {"ops", "list"}} {
		if got := deedCommand(t, append(command, "--ledger", path)...); strings.Contains(got, "more than once") {
			t.Errorf("of one effect deed %s says\n%s", strings.Join(command, " "), got)
		}
	}
}

// Another id beside one that is known is another effect, which a slip must not state.
func TestASecondEffectIsStatedByForceOnlyAndShown(t *testing.T) {
	path, id := doubtIn(t, "acme")
	resolve := func(more ...string) string {
		return deedCommand(t, append([]string{"ops", "resolve", string(id), "--ledger", path, "--committed", "--reason", "seen there"}, more...)...)
	}
	resolve("--remote-id", "ref_1")
	got := refusedCommand(t, 4, "ops", "resolve", string(id), "--ledger", path, "--committed", "--reason", "a slip", "--remote-id", "ref_2")
	if !strings.Contains(got, "its receipts name ref_1 already: ref_2 besides says that it happened more than once") || !strings.Contains(got, "nothing was changed") {
		t.Errorf("with another id it says\n%s", got)
	}
	if got := resolve("--remote-id", "ref_2", "--force"); !strings.Contains(got, "it happened more than once") {
		t.Errorf("with another id by force it says\n%s", got)
	}
	if got := refusedCommand(t, 1, "ops", "prove-replay", string(id), "--ledger", path); !strings.Contains(got, "its receipts name more than one object (ref_1, ref_2)") || strings.Contains(got, "more than one attempt was") {
		t.Errorf("deed ops prove-replay says\n%s", got)
	}
	for _, command := range [][]string{{"status"}, {"ops", "list"}, {"ops", "show", string(id)}} {
		if got := deedCommand(t, append(command, "--ledger", path)...); !strings.Contains(got, "more than once") {
			t.Errorf("of two effects deed %s says\n%s", strings.Join(command, " "), got)
		}
	}
}
