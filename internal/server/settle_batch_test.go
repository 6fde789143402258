// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

const (
	noneAccepted = `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"batch_1","items":[{"id":"a","outcome":"refused"},{"id":"b","outcome":"refused"}]}}`
	oneUnknown   = `{"attempt":1,"outcome":"committed","receipt":{"remote_id":"batch_1","items":[{"id":"a","outcome":"success","remote_id":"re_a","detail":{"card":"4242"}},{"id":"b","outcome":"unknown"}]}}`
)

// The first report of a batch differs from nothing, and what it names is kept,
// also where it amounts to no receipt.
func TestTheFirstReportOfABatchIsKeptAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		first, report string
		status        deed.Status
	}{
		"none was accepted":              {"", noneAccepted, deed.StatusFailed},
		"one is unknown":                 {"", oneUnknown, deed.StatusUncertain},
		"one is unknown, as was the lot": {`{"attempt":1,"outcome":"unknown"}`, oneUnknown, deed.StatusUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryStore(t, nil, func(r *rig) {
				granted := r.claim("agent", "job-7/1")
				if c.first != "" {
					r.settle(granted.OperationID, c.first).into(200, &api.Operation{})
				}
				var op api.Operation
				for range 2 {
					r.settle(granted.OperationID, c.report).into(200, &op)
				}
				if op.Status != c.status || len(op.Receipts) != 0 {
					r.t.Errorf("%+v", op)
				}
				history := r.get("agent", "/v1/operations/"+string(granted.OperationID)+"/events").Body.String()
				for _, named := range []string{`"batch_1"`, `"id":"a"`, `"id":"b"`} {
					if !strings.Contains(history, named) {
						r.t.Errorf("nothing recorded names %s: %s", named, history)
					}
				}
				if strings.Contains(history, "4242") {
					r.t.Errorf("details of a member are in an event: %s", history)
				}
			})
		})
	}
}

func TestABatchThatSaysOtherwiseIsEvidence(t *testing.T) {
	for name, c := range map[string]struct{ first, second string }{
		"refused after a success":    {`{"attempt":1,"outcome":"committed","receipt":{"remote_id":"batch_0"}}`, noneAccepted},
		"unknown after a success":    {`{"attempt":1,"outcome":"committed","receipt":{"remote_id":"batch_0"}}`, oneUnknown},
		"unknown after a refusal":    {noneAccepted, oneUnknown},
		"unknown after nothing left": {`{"attempt":1,"outcome":"not_sent"}`, oneUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryStore(t, nil, func(r *rig) {
				granted := r.claim("agent", "job-7/1")
				var op api.Operation
				r.settle(granted.OperationID, c.first).into(200, &op)
				p := r.settle(granted.OperationID, c.second).problem(409)
				if p.Type != api.ProblemPage+"#outcome-differs" || p.OperationStatus != op.Status {
					r.t.Errorf("%+v", p)
				}
				var history api.Events
				r.get("agent", "/v1/operations/"+string(granted.OperationID)+"/events").into(200, &history)
				last := history.Events[len(history.Events)-1]
				if last.Name != deed.Evidence || !strings.Contains(string(last.Data), "batch_1") {
					r.t.Errorf("%+v", last)
				}
			})
		})
	}
}
