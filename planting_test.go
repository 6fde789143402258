// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
)

func TestMarksAreInTheSnapshotAndNotInTheFingerprint(t *testing.T) {
	plain := newRig(t, nil)
	want := plain.do(refund("12")).Operation.Fingerprint

	d := unsent(t, func(r *deed.Rule) {
		r.Planting.ClientID = func(own [32]byte) string { return "c" + hex.EncodeToString(own[:8]) }
	})
	_, grant := d.claim(d.rt, refund("12"))
	if !regexp.MustCompile(`^[A-Z2-7]{26}$`).MatchString(grant.Marks.Marker) || !strings.HasPrefix(grant.Marks.ClientID, "c") {
		t.Errorf("marks %+v", grant.Marks)
	}
	if !bytes.Contains(grant.Arguments, []byte(grant.Marks.Marker)) {
		t.Errorf("sent %s", grant.Arguments)
	}
	answer := d.settle(d.rt, grant, success("re_1"))
	if answer.Operation.Fingerprint != want {
		t.Error("the mark changed the fingerprint")
	}
	d.id = grant.Operation
	if op := d.op(); !bytes.Equal(op.Arguments, grant.Arguments) || op.Current().Marks.Marker != grant.Marks.Marker {
		t.Error("the record does not hold what was sent")
	}
	d.want(d.do(refund("12.0")), deed.Replay, deed.ReasonStored, 0)
	d.want(d.do(refund("13")), deed.Conflict, deed.ReasonKeyReused, 0)
	next := refund("12")
	next.Key = deed.OperationKey("refund:order-1042:second")
	_, second := d.claim(d.rt, next)
	if second == nil || second.Marks.Marker == grant.Marks.Marker {
		t.Error("two operations share a mark")
	}
	d.settle(d.rt, second, success("re_2"))
}

func TestArgumentsWithoutAPlaceForTheMarkAreRefused(t *testing.T) {
	d := unsent(t, func(r *deed.Rule) {
		r.Planting.Plant = func([]byte, deed.Marks) ([]byte, error) { return nil, errors.New("/body is no text") }
	})
	answer, grant := d.claim(d.rt, refund("12"))
	if grant != nil || answer.Reason != deed.ReasonBadArguments || !strings.Contains(answer.Text, "/body is no text") {
		t.Errorf("%s(%s) %s", answer.Decision, answer.Reason, answer.Text)
	}
}

func TestARetryAfterRetentionSendsTheSameMarks(t *testing.T) {
	d := unsent(t, func(r *deed.Rule) { r.Retention, r.MaxAge = time.Hour, 48*time.Hour })
	_, grant := d.claim(d.rt, refund("12"))
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnsent})
	d.clock.Advance(2 * time.Hour)
	if _, err := d.rt.Trim(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, again := d.claim(d.rt, refund("12"))
	if again == nil || !bytes.Equal(again.Arguments, grant.Arguments) || again.Marks.Marker != grant.Marks.Marker {
		t.Errorf("sent %+v, then %+v", grant, again)
	}
	d.settle(d.rt, again, success("re_1"))
}

func TestAWebhookFindsItsOperationByTheMark(t *testing.T) {
	d := newInDoubt(t, nil)
	ctx := context.Background()
	proof := deed.Proof{Tenant: "acme", Marker: d.grant.Marks.Marker, RemoteID: "re_7", EstablishedBy: deed.ByWebhook, Evidence: "refund.created evt_1"}
	for range 2 {
		if op, err := d.rt.Prove(ctx, proof); err != nil || op.Status != deed.StatusCommitted || len(op.Receipts) != 1 || op.Diverged {
			t.Fatalf("%v %+v", err, op)
		}
	}
	other := proof
	other.RemoteID = "re_8"
	if op, err := d.rt.Prove(ctx, other); err != nil || !op.Diverged || len(op.Receipts) != 2 {
		t.Errorf("a second object: %v %+v", err, op)
	}
	for name, change := range map[string]func(*deed.Proof){
		"unknown mark":        func(p *deed.Proof) { p.Marker = strings.Repeat("A", 26) },
		"another tenant":      func(p *deed.Proof) { p.Tenant = "other" },
		"unknown operation":   func(p *deed.Proof) { p.Operation = "op_00000000000000000000000000" },
		"attempt never begun": func(p *deed.Proof) { p.Attempt = 7 },
		"the key of a caller": func(p *deed.Proof) { p.Marker = string(firstKey) },
		"a negative attempt":  func(p *deed.Proof) { p.Attempt = -1 },
	} {
		wrong := proof
		change(&wrong)
		if _, err := d.rt.Prove(ctx, wrong); !errors.Is(err, deed.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	proof.EstablishedBy = "reply"
	if _, err := d.rt.Prove(ctx, proof); err == nil {
		t.Error("a webhook passed for a reply")
	}
}

func TestAWebhookBeforeTheReplyIsTheSameEffect(t *testing.T) {
	d := unsent(t, nil)
	_, grant := d.claim(d.rt, refund("12"))
	op, err := d.rt.Prove(context.Background(), deed.Proof{Tenant: "acme", Marker: grant.Marks.Marker, RemoteID: "re_7", EstablishedBy: deed.ByWebhook})
	if err != nil || op.Status != deed.StatusCommitted {
		t.Fatalf("%v %+v", err, op)
	}
	answer := d.settle(d.rt, grant, success("re_7"))
	if op := answer.Operation; op.Diverged || len(op.Receipts) != 1 || op.Status != deed.StatusCommitted {
		t.Errorf("%s, %d receipts, diverged %v", op.Status, len(op.Receipts), op.Diverged)
	}
}

// Another action that quotes the mark of an effect of which nobody knows would be
// taken for it by a look-up.
func TestAMarkOfWhatIsNotKnownIsNotSentInAnotherCall(t *testing.T) {
	d := unsent(t, nil)
	_, grant := d.claim(d.rt, refund("12"))
	d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown})
	quoting := func(key, text string) deed.Call {
		call := refund("12")
		call.Key = deed.OperationKey("refund:order-2000:" + key)
		call.Arguments = []byte(`{"order":"order-2000","amount":12,"note":"` + text + `"}`)
		return call
	}
	mark := grant.Marks.Marker
	escaped := `\u00` + hex.EncodeToString([]byte(mark[:1])) + mark[1:]
	first := refund("12")
	first.Key, first.Arguments = deed.OperationKey("refund:order-1000:first"), []byte(`{"order":"order-1000","amount":12}`)
	_, done := d.claim(d.rt, first)
	d.settle(d.rt, done, success("re_0"))
	settled := done.Marks.Marker
	decoys := strings.Repeat("ACGT", 30) + base32.StdEncoding.EncodeToString([]byte(strings.Repeat("a letter to somebody. ", 40)))
	for _, text := range []string{mark, "as in ABC" + mark + "77.", escaped, decoys + " " + mark, settled + " " + mark} {
		answer, second := d.claim(d.rt, quoting("first", text))
		if second != nil || answer.Reason != deed.ReasonBadArguments || !strings.Contains(answer.Text, string(grant.Operation)) {
			t.Errorf("%s: %s(%s) %s", text, answer.Decision, answer.Reason, answer.Text)
		}
	}
	// Once it is settled, the mark may be quoted: it is found by its own effect.
	d.id = grant.Operation
	if _, err := d.rt.Resolve(context.Background(), operator, d.id, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"re_1"}, Reason: "seen"}); err != nil {
		t.Fatal(err)
	}
	if answer, second := d.claim(d.rt, quoting("second", mark)); second == nil {
		t.Errorf("afterwards: %s(%s) %s", answer.Decision, answer.Reason, answer.Text)
	} else {
		d.settle(d.rt, second, success("re_2"))
	}
}
