// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/reconcile"
	"github.com/deed-run/deed/sqlite"
)

// On the shipping ledger, across a restart: what is in doubt is found due by a
// process that has begun nothing, is looked up by the marks in the record, and
// a webhook finds its operation by the mark alone.
func TestDoubtsSurviveARestart(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	open := func() (*sqlite.Ledger, *deed.Runtime) {
		store, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rt, err := deed.New(deed.Options{
			Store: store, Policy: deed.FixedPolicy{"tickets/create": lagging()},
			Reconciler: reconcile.Ladder{reconcile.MarkerList{From: reconcile.FetcherFunc(
				func(_ context.Context, q deed.Inquest, _ string) ([]deed.Match, string, error) {
					if !strings.Contains(string(q.Operation.Arguments), q.Marks.Marker) {
						t.Error("the look-up is not told what was sent")
					}
					return []deed.Match{{RemoteID: "t_1", Token: q.Marks.Marker}}, "", nil
				})}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return store, rt
	}
	begin := func(rt *deed.Runtime, key string) *deed.Grant {
		_, grant, err := rt.Claim(ctx, deed.Call{
			Principal: agent, Tool: "tickets/create", Key: deed.OperationKey("ticket:1042:" + strings.ReplaceAll(key, " ", "-")),
			Arguments: []byte(`{"title":"` + key + `"}`),
		})
		if err != nil || grant == nil {
			t.Fatal("not begun", err)
		}
		if _, err := rt.Settle(ctx, grant, deed.Outcome{Kind: deed.OutcomeUnknown}); err != nil {
			t.Fatal(err)
		}
		return grant
	}
	store, rt := open()
	told := begin(rt, "told by webhook")
	asked := begin(rt, "looked up by it")
	closeBoth := func() {
		if err := rt.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	closeBoth()
	store, rt = open()
	defer closeBoth()

	inbox := reconcile.Inbox{
		Prover: rt, Tenant: "acme", Verify: func(*http.Request, []byte) error { return nil },
		Read: func(_ *http.Request, body []byte) (deed.Proof, error) {
			return deed.Proof{Marker: string(body), RemoteID: "t_9"}, nil
		},
	}
	for body, want := range map[string]int{told.Marks.Marker: 204, strings.Repeat("Z", 26): 404} {
		w := httptest.NewRecorder()
		inbox.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(body)))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", body, w.Code, want)
		}
	}
	due, err := rt.Due(ctx, 10)
	if err != nil || len(due) != 1 || due[0].Operation != asked.Operation {
		t.Fatalf("due: %v %v", due, err)
	}
	if finding, err := rt.ReconcileDue(ctx, due[0]); err != nil || finding.Counted != deed.VerdictFound {
		t.Fatalf("%v %+v", err, finding)
	}
	for id, by := range map[deed.OperationID]string{told.Operation: "webhook", asked.Operation: "reconcile:marker-list"} {
		op, err := rt.Get(ctx, agent, id)
		if err != nil || op.Status != deed.StatusCommitted || op.Receipt().EstablishedBy != by {
			t.Errorf("%v: %s by %+v, want %s", err, op.Status, op.Receipt(), by)
		}
	}
}
