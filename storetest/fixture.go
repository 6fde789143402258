// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deed-run/deed"
)

// fixture is one store under test and what the cases do with it.
type fixture struct {
	*testing.T
	clock *Clock
	store deed.Store
	// made counts operations and events, whose ids rise with it.
	made int
}

const tenant deed.Tenant = "acme"

func (f *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	f.Cleanup(cancel)
	return ctx
}

// digestOf gives tests digests of the usual shape.
func digestOf(text string) deed.Digest {
	sum := sha256.Sum256([]byte(text))
	return deed.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

func operationID(n int) deed.OperationID { return deed.OperationID(fmt.Sprintf("op_01%024d", n)) }
func eventID(n int) deed.EventID         { return deed.EventID(fmt.Sprintf("ev_01%024d", n)) }

// operation returns a new executing operation that nothing else is equal to,
// with every kind of field filled.
func (f *fixture) operation() *deed.Operation {
	f.made++
	now := f.clock.Now()
	name := fmt.Sprintf("order-%d", f.made)
	return &deed.Operation{
		ID: operationID(f.made), Tenant: tenant, Actor: "support",
		Key: deed.Key{
			Family: deed.FamilyOperation, Text: "refund:" + name + ":first", Generation: 1,
			Provenance: deed.ProvenanceRuntime,
		},
		Tool: "payments/refund", Effect: deed.EffectNonIdempotent,
		Fingerprint: deed.Fingerprint(digestOf("effect of " + name)), FingerprintRules: digestOf("rules"),
		Matter: deed.Matter(`["` + name + `"]`), UpstreamIdentity: "https://payments.example",
		Definition: digestOf("definition"), RulesHash: digestOf("rule"), PolicyRevision: "r1",
		Arguments: []byte(`{"order_id":"` + name + `"}`), PayloadDigest: digestOf("arguments of " + name),
		Meta:   map[string]string{"conversation": "c1", "run": name},
		Status: deed.StatusExecuting,
		Attempts: []deed.Attempt{{
			Number: 1, Nonce: "nonce-" + name, Worker: "worker-1", UpstreamIdentity: "https://payments.example",
			BegunAt: now, SendBy: now.Add(time.Minute), ProviderKey: "5f0c",
		}},
		CreatedAt: now, ProposedAt: now, AuthorizedAt: now,
		LeaseExpiresAt: now.Add(time.Minute), DispatchBy: now.Add(24 * time.Hour),
		Version: 1,
	}
}

// executing, committed and the others put an operation into a status with
// everything that goes with it.
func toStatus(op *deed.Operation, status deed.Status, at time.Time) {
	op.Status, op.Reason = status, ""
	op.LeaseExpiresAt, op.InputExpiresAt, op.SettledAt, op.RetainUntil = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	switch status {
	case deed.StatusAwaitingApproval, deed.StatusAuthorized:
		op.Attempts = nil
		return
	case deed.StatusExecuting:
		op.LeaseExpiresAt = at.Add(time.Minute)
		return
	case deed.StatusAwaitingInput:
		op.InputExpiresAt = at.Add(time.Hour)
		return
	case deed.StatusCommitted:
		op.Receipts = append(op.Receipts, receiptOf(op, len(op.Receipts)+1, at))
	case deed.StatusUncertain:
		op.Reason = deed.ReasonOutcomeUnknown
	case deed.StatusDenied:
		op.Reason, op.Attempts = deed.ReasonByPerson, nil
	case deed.StatusCancelled, deed.StatusExpired:
		op.Attempts = nil
	}
	op.SettledAt, op.RetainUntil = at, at.Add(720*time.Hour)
}

func receiptOf(op *deed.Operation, n int, at time.Time) deed.Receipt {
	return deed.Receipt{
		IdempotencyKey: op.Key.Text, EffectFingerprint: op.Fingerprint, Status: deed.StatusCommitted,
		RemoteSystem: "payments", RemoteID: fmt.Sprintf("re_%s_%d", op.ID, n), RemoteURL: "https://payments.example/re",
		CommittedAt: at, OperationID: op.ID, Attempt: 1,
		Established: deed.EstablishedAccepted, EstablishedBy: deed.ByReply,
		Items:        []deed.Item{{ID: "1", Outcome: deed.OutcomeSuccess, Detail: []byte(`{"n":12345678901234567890}`)}},
		ResultDigest: digestOf("result"),
	}
}

// with returns a new operation in a status, edited and stored.
func (f *fixture) with(status deed.Status, edit func(*deed.Operation)) *deed.Operation {
	f.Helper()
	op := f.operation()
	toStatus(op, status, f.clock.Now())
	if edit != nil {
		edit(op)
	}
	f.put(op)
	return op
}

// put stores new operations in one transaction.
func (f *fixture) put(operations ...*deed.Operation) {
	f.Helper()
	scope := deed.Scope{Tenant: operations[0].Tenant, ID: operations[0].ID}
	f.transact(scope, deed.Change{Put: operations})
}

func (f *fixture) transact(scope deed.Scope, wanted deed.Change) deed.View {
	f.Helper()
	view, err := f.store.Transact(f.context(), scope, func(deed.View) (deed.Change, error) { return wanted, nil })
	if err != nil {
		f.Fatalf("Transact: %v", err)
	}
	return view
}

// move changes a stored operation.
func (f *fixture) move(id deed.OperationID, edit func(*deed.Operation)) *deed.Operation {
	f.Helper()
	var next *deed.Operation
	_, err := f.store.Transact(f.context(), deed.Scope{Tenant: tenant, ID: id}, func(view deed.View) (deed.Change, error) {
		if view.Operation == nil {
			return deed.Change{}, fmt.Errorf("%s is not there", id)
		}
		next = copyOperation(view.Operation)
		next.Version++
		edit(next)
		return deed.Change{Put: []*deed.Operation{next}}, nil
	})
	if err != nil {
		f.Fatalf("moving %s: %v", id, err)
	}
	return next
}

func (f *fixture) load(scope deed.Scope) deed.View {
	f.Helper()
	view, err := f.store.Load(f.context(), scope)
	if err != nil {
		f.Fatalf("Load: %v", err)
	}
	return view
}

// get loads one operation, nil if there is none.
func (f *fixture) get(id deed.OperationID) *deed.Operation {
	f.Helper()
	return f.load(deed.Scope{Tenant: tenant, ID: id}).Operation
}

func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if diff := difference(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// difference compares records; of bytes, none is told from empty.
func difference(want, got any) string {
	bytesMatter := cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return name != ".Arguments" && name != ".Result"
	}, cmpopts.EquateEmpty())
	return cmp.Diff(want, got, bytesMatter)
}

func (f *fixture) list(query deed.Query) deed.Page {
	f.Helper()
	page, err := f.store.List(f.context(), query)
	if err != nil {
		f.Fatalf("List: %v", err)
	}
	return page
}

func (f *fixture) events(query deed.EventQuery) []deed.Event {
	f.Helper()
	events, err := f.store.Events(f.context(), query)
	if err != nil {
		f.Fatalf("Events: %v", err)
	}
	return events
}

// event returns a new event about an operation.
func (f *fixture) event(op *deed.Operation, name deed.EventName) deed.Event {
	f.made++
	return deed.Event{
		ID: eventID(f.made), Tenant: op.Tenant, OperationID: op.ID, Version: op.Version, At: f.clock.Now(),
		Name: name, Actor: "support", Attempt: 1, From: deed.StatusAuthorized, To: op.Status,
		Reason: op.Reason, Tool: op.Tool, Fingerprint: op.Fingerprint, Data: []byte(`{"n":1}`),
	}
}

func (f *fixture) append(durability deed.Durability, events ...deed.Event) {
	f.Helper()
	if err := f.store.Append(f.context(), events, durability); err != nil {
		f.Fatalf("Append: %v", err)
	}
}

// ids names operations, for comparing.
func ids(operations []*deed.Operation) []deed.OperationID {
	list := make([]deed.OperationID, len(operations))
	for i, op := range operations {
		list[i] = op.ID
	}
	return list
}
