// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/reconcile"
	"github.com/deed-run/deed/storetest"
)

// The message may be the only place where the remote id is said.
func TestAMessageNamesTheObjectThatTheReplyLeftOut(t *testing.T) {
	const tool = "pay/charge"
	store := storetest.NewMemory(deed.SystemClock{})
	rt, err := deed.New(deed.Options{Store: store, Policy: deed.FixedPolicy{tool: deed.DefaultRule(tool)}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rt.Close(t.Context()) }()
	who := deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	_, grant, err := rt.Claim(t.Context(), deed.Call{Principal: who, Tool: tool, Key: deed.OperationKey("charge:order-1042:first"), Arguments: []byte(`{"order":1042}`)})
	if err != nil || grant == nil {
		t.Fatal(err)
	}
	if a, err := rt.Settle(t.Context(), grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteSystem: "pay"}}); err != nil || a.Effective != deed.StatusCommitted {
		t.Fatal(a.Effective, err)
	}
	inbox := reconcile.Inbox{
		Prover: rt, Tenant: "acme", Verify: func(*http.Request, []byte) error { return nil },
		Read: func(*http.Request, []byte) (deed.Proof, error) {
			return deed.Proof{Operation: grant.Operation, RemoteID: "ch_9", RemoteURL: "https://pay.example/ch_9"}, nil
		},
	}
	w := httptest.NewRecorder()
	inbox.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{}`)))
	if w.Code != http.StatusNoContent {
		t.Fatal(w.Code)
	}
	op, err := rt.Get(t.Context(), who, grant.Operation)
	if err != nil {
		t.Fatal(err)
	}
	named := slices.ContainsFunc(op.Receipts, func(r deed.Receipt) bool { return r.RemoteID == "ch_9" })
	if !named || op.Diverged {
		t.Errorf("it was acknowledged, and no receipt names ch_9 (diverged %v): %+v", op.Diverged, op.Receipts)
	}
}
