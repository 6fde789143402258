// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"strings"

	"github.com/deed-run/deed"
)

var payloadCases = []testCase{
	{"bytes survive, whatever they are", func(f *fixture) {
		odd := []byte("\x00\xff{\"a\":\x00\"\u2028\"}\xc3\x28\x00")
		op := f.with(deed.StatusCommitted, func(op *deed.Operation) {
			op.Arguments, op.Result, op.ResultDigest = odd, bytes.Clone(odd), digestOf("odd")
			op.Message, op.Actor, op.Matter = string(odd), deed.Actor(odd), deed.Matter(odd)
			op.Key.Text = string(odd)
			op.Receipts[0].RemoteID = string(odd)
		})
		f.equal("by id", f.get(op.ID), op)
		f.equal("by key", f.load(deed.Scope{Tenant: tenant, Keys: []deed.Key{op.Key}}).Operation, op)
		event := f.event(op, deed.EventSucceeded)
		event.Data, event.Actor = odd, deed.Actor(odd)
		f.append(deed.Durable, event)
		f.equal("the event", f.events(deed.EventQuery{Tenant: tenant}), []deed.Event{event})
	}},
	{"ids and digests of unusual shape survive", func(f *fixture) {
		for i, digest := range []deed.Digest{"", "sha256:", "sha256:00", digestOf("x") + "0", deed.Digest(strings.ToUpper(string(digestOf("x")))), "md5:1"} {
			op := f.with(deed.StatusExecuting, func(op *deed.Operation) {
				op.ID = deed.OperationID([]string{"x", "op_", "op_81ZZZZZZZZZZZZZZZZZZZZZZZZ", "op_0lZZZZZZZZZZZZZZZZZZZZZZZZ", "ev_01ZZZZZZZZZZZZZZZZZZZZZZZZ", "op_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}[i])
				op.PayloadDigest, op.Definition, op.Fingerprint = digest, digest, deed.Fingerprint(digest)
			})
			f.equal(string(op.ID), f.get(op.ID), op)
		}
	}},
	{"no bytes, empty bytes and large bytes are three things", func(f *fixture) {
		none := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Arguments = nil })
		empty := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Arguments = []byte{} })
		large := f.with(deed.StatusExecuting, func(op *deed.Operation) { op.Arguments = bytes.Repeat([]byte("\x00deed"), 1<<18) })
		if got := f.get(none.ID).Arguments; got != nil {
			f.Errorf("none became %q", got)
		}
		if got := f.get(empty.ID).Arguments; got == nil || len(got) != 0 {
			f.Errorf("empty became %v", got)
		}
		if got := f.get(large.ID).Arguments; !bytes.Equal(got, large.Arguments) {
			f.Errorf("%d bytes became %d others", len(large.Arguments), len(got))
		}
	}},
	{"arguments are written again only when their digest says so", func(f *fixture) {
		op := f.with(deed.StatusAwaitingApproval, nil)
		f.move(op.ID, func(op *deed.Operation) { op.Arguments = nil })
		f.equal("same digest", f.get(op.ID).Arguments, op.Arguments)
		f.move(op.ID, func(op *deed.Operation) { op.Arguments, op.PayloadDigest = []byte(`{"new":1}`), digestOf("new") })
		f.equal("new digest", f.get(op.ID).Arguments, []byte(`{"new":1}`))
	}},
	{"a result is written, kept, replaced and taken away by its digest", func(f *fixture) {
		op := f.with(deed.StatusExecuting, nil)
		steps := []struct {
			name   string
			result []byte
			digest deed.Digest
			want   []byte
		}{
			{"written", []byte("one"), digestOf("one"), []byte("one")},
			{"kept", nil, digestOf("one"), []byte("one")},
			{"replaced", []byte("two"), digestOf("two"), []byte("two")},
			{"taken away", nil, "", nil},
		}
		for _, step := range steps {
			f.move(op.ID, func(op *deed.Operation) { op.Result, op.ResultDigest = step.result, step.digest })
			f.equal(step.name, f.get(op.ID).Result, step.want)
		}
	}},
	{"receipts are added and never changed", func(f *fixture) {
		op := f.with(deed.StatusCommitted, nil)
		first := op.Receipts[0]
		f.move(op.ID, func(op *deed.Operation) {
			op.Receipts[0].RemoteID = "forged"
			op.Receipts = append(op.Receipts, receiptOf(op, 2, f.clock.Now()))
			op.Diverged = true
		})
		f.equal("after one more", f.get(op.ID).Receipts, []deed.Receipt{first, receiptOf(op, 2, f.clock.Now())})
		f.move(op.ID, func(op *deed.Operation) { op.Receipts = nil })
		f.equal("after a change without them", f.get(op.ID).Receipts, []deed.Receipt{first, receiptOf(op, 2, f.clock.Now())})
	}},
}
