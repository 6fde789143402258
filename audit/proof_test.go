// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
)

func proved(t *testing.T) (*scene, audit.Proof) {
	t.Helper()
	s := newScene(t)
	s.append(t)
	proof, err := s.open(t).Prove(t.Context(), s.refund)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(proof)
	if err != nil {
		t.Fatal(err)
	}
	var sent audit.Proof
	if err := json.Unmarshal(text, &sent); err != nil {
		t.Fatal(err)
	}
	return s, sent
}

func TestAProofShowsThatTheSecondAnswerWasAReplay(t *testing.T) {
	s, proof := proved(t)
	records, at, err := proof.Check(s.verifier)
	if err != nil {
		t.Fatal(err)
	}
	var names []deed.EventName
	for _, r := range records {
		if r.Name != deed.Delivered { // of a burst of answers the ledger notes the first ones
			names = append(names, r.Name)
		}
		if r.Operation != s.refund || r.Tenant != "acme" {
			t.Errorf("a record is about %s of %s", r.Operation, r.Tenant)
		}
	}
	want := []deed.EventName{deed.EventBegun, deed.EventSucceeded, deed.EventName(deed.Replay), deed.EventName(deed.Replay), deed.EventName(deed.Conflict)}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if at.Root != s.checkpoint(t).Root || at.Name != logName {
		t.Errorf("it is under the checkpoint %+v", at)
	}
}

func TestAProofThatWasChangedDoesNotHold(t *testing.T) {
	for name, spoil := range map[string]func(*audit.Proof){
		"another actor": func(p *audit.Proof) {
			p.Records[0].Record = strings.Replace(p.Records[0].Record, "support", "nobody", 1)
		},
		"another number":     func(p *audit.Proof) { p.Records[0].Number++ },
		"a number too many":  func(p *audit.Proof) { p.Records[len(p.Records)-1].Number = 1 << 40 },
		"a negative number":  func(p *audit.Proof) { p.Records[0].Number = -1 },
		"a hash is missing":  func(p *audit.Proof) { p.Records[1].Path = p.Records[1].Path[1:] },
		"the same one twice": func(p *audit.Proof) { p.Records[1] = p.Records[0] },
		"another operation":  func(p *audit.Proof) { p.Operation = "op_0" },
		"no record":          func(p *audit.Proof) { p.Records = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s, proof := proved(t)
			spoil(&proof)
			if _, _, err := proof.Check(s.verifier); !errors.Is(err, audit.ErrUnproved) {
				t.Errorf("checking: %v", err)
			}
		})
	}
}

func TestAProofIsUnderACheckpointOfTheKey(t *testing.T) {
	s, proof := proved(t)
	_, other, err := audit.NewKey(logName)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := proof.Check(other); !errors.Is(err, audit.ErrNotSigned) {
		t.Errorf("with another key: %v", err)
	}
	proof.Checkpoint = strings.Replace(proof.Checkpoint, "\n", "\n1", 1)
	if _, _, err := proof.Check(s.verifier); !errors.Is(err, audit.ErrNotSigned) {
		t.Errorf("with another size: %v", err)
	}
}

func TestAnOperationThatIsNotLoggedHasNoProof(t *testing.T) {
	s := newScene(t)
	s.append(t)
	if _, err := s.open(t).Prove(t.Context(), "op_00000000000000000000000000"); !errors.Is(err, deed.ErrNotFound) {
		t.Errorf("proving: %v", err)
	}
}
