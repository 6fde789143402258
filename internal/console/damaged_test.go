// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

// damage puts other arguments in the place of what was recorded of an operation.
func (f *faulty) damage(id deed.OperationID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.damaged = id
}

func (f *faulty) Load(ctx context.Context, scope deed.Scope) (deed.View, error) {
	v, err := f.Store.Load(ctx, scope)
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.Operation != nil && v.Operation.ID == f.damaged {
		v.Operation.Arguments = bytes.Replace(v.Operation.Arguments, []byte("900"), []byte("901"), 1)
	}
	return v, err
}

// A damaged record is said to be one, and keeps nobody from deciding about others of
// its tool.
func TestADamagedRecordHidesNoOther(t *testing.T) {
	r := newRig(t, nil)
	op := r.proposal(t)
	address := "/op/" + string(op.ID)
	p := r.as("approver-token")
	if w := p.post(address+"/approve", url.Values{"digest": {digestOn(t, p.page(address))}}); w.Code != http.StatusSeeOther {
		t.Fatalf("HTTP %d", w.Code)
	}
	next := r.call(payout, "payout:acct-7:week-9", `{"to":"acct_7","amount":800}`, nil).Operation
	r.store.damage(op.ID)
	if w := p.get("/op/" + string(next.ID)); w.Code != http.StatusOK {
		t.Errorf("the page of another proposal: HTTP %d", w.Code)
	}
	if w := p.get(address); !strings.Contains(w.Body.String(), "The record is damaged") || !strings.Contains(w.Body.String(), "deed ops show "+string(op.ID)+" --server ") {
		t.Errorf("HTTP %d: nobody is told that the record is damaged, and how it is settled: %s", w.Code, w.Body)
	}
}
