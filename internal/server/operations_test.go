// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// populate begins operations of several callers in several states and returns
// their ids by name.
func populate(r *rig) map[string]deed.OperationID {
	r.t.Helper()
	ids := map[string]deed.OperationID{}
	claim := func(name, as, meta string) {
		r.t.Helper()
		r.clock.Advance(time.Millisecond)
		var granted api.ClaimAnswer
		r.do(request{as: as, method: "POST", path: "/v1/claims", body: fmt.Sprintf(
			`{"key":"the-refund-of:%[1]s","tool":"pay/refund","arguments":{"order_id":%[1]q},"meta":{%[2]s}}`, name, meta)}).into(200, &granted)
		ids[name] = granted.OperationID
	}
	settle := func(name, as, outcome string) {
		r.t.Helper()
		r.do(request{as: as, method: "POST", path: "/v1/claims/" + string(ids[name]) + "/settle", body: `{"attempt":1,"outcome":"` + outcome + `"}`}).
			into(200, &api.Operation{})
	}
	claim("done", "agent", `"conversation":"c1"`)
	settle("done", "agent", "committed")
	claim("failed", "agent", `"conversation":"c1","run":"r1"`)
	settle("failed", "agent", "refused")
	claim("unknown", "other", `"conversation":"c2"`)
	settle("unknown", "other", "unknown")
	claim("live", "agent", `"conversation":"c2","run":"r1"`)
	claim("theirs", "stranger", `"conversation":"c1"`)
	return ids
}

func (r *rig) names(ids map[string]deed.OperationID, as, query string) []string {
	r.t.Helper()
	var page api.Operations
	r.get(as, "/v1/operations?"+query).into(200, &page)
	names := []string{}
	for _, op := range page.Operations {
		for name, id := range ids {
			if id == op.OperationID {
				names = append(names, name)
			}
		}
	}
	return names
}

func TestOperationsAreListedByWhatTheyAre(t *testing.T) {
	onEveryStore(t, func(rule *deed.Rule) { rule.Matter = []string{"/order_id"} }, func(r *rig) {
		ids := populate(r)
		var done api.Operation
		r.get("agent", "/v1/operations/"+string(ids["done"])).into(200, &done)
		for query, want := range map[string][]string{
			"":                                      {"live", "unknown", "failed", "done"},
			"status=pending":                        {"live"},
			"status=accepted":                       {"done"},
			"status=committed&status=failed":        {"failed", "done"},
			"status=uncertain":                      {"unknown"},
			"status=closed":                         {},
			"meta.conversation=c1":                  {"failed", "done"},
			"meta.conversation=c2&meta.run=r1":      {"live"},
			"status=pending&meta.conversation=c2":   {"live"},
			"actor=other":                           {"unknown"},
			"tool=pay/refund&actor=agent":           {"live", "failed", "done"},
			"tool=pay/other":                        {},
			"key=the-refund-of:done":                {"done"},
			"matter=done":                           {"done"},
			"matter=" + url.QueryEscape(`["live"]`): {"live"},
			"reason=refused":                        {"failed"},
			"fingerprint=" + string(done.EffectFingerprint): {"done"},
			"before=" + string(ids["failed"]):               {"done"},
		} {
			if diff := cmp.Diff(want, r.names(ids, "reader", query)); diff != "" {
				r.t.Errorf("%q (-want +got):\n%s", query, diff)
			}
		}
		r.clock.Advance(time.Minute)
		if diff := cmp.Diff([]string{"live", "unknown"}, r.names(ids, "reader", "status=uncertain")); diff != "" {
			r.t.Errorf("a lost lease is uncertain before anyone has written it:\n%s", diff)
		}
	})
}

func TestAListIsReadPageByPage(t *testing.T) {
	r := newRig(t, nil)
	ids := populate(r)
	var names []string
	query := url.Values{"limit": {"1"}}
	for range 10 {
		names = append(names, r.names(ids, "reader", query.Encode())...)
		var page api.Operations
		r.get("reader", "/v1/operations?"+query.Encode()).into(200, &page)
		if page.Next == "" {
			break
		}
		query.Set("before", page.Next)
	}
	if diff := cmp.Diff([]string{"live", "unknown", "failed", "done"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestListsThatCannotBeMeant(t *testing.T) {
	r := newRig(t, nil)
	for _, query := range []string{"status=done", "state=failed", "limit=0", "limit=1001", "limit=x", "tool=a&tool=b", "meta.=x", "conversation=c1"} {
		r.get("reader", "/v1/operations?"+query).want(400, deed.Denied, deed.ReasonBadArguments)
	}
}

func TestEverybodySeesTheirOwn(t *testing.T) {
	r := newRig(t, nil)
	ids := populate(r)
	for as, want := range map[string][]string{
		"agent": {"live", "failed", "done"}, "other": {"unknown"}, "idle": {}, "stranger": {"theirs"}, "reader": {"live", "unknown", "failed", "done"},
	} {
		if diff := cmp.Diff(want, r.names(ids, as, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", as, diff)
		}
	}
	if diff := cmp.Diff([]string{}, r.names(ids, "agent", "actor=other")); diff != "" {
		t.Error(diff)
	}
}

func TestNotYoursAndNotThereAreTheSame(t *testing.T) {
	r := newRig(t, nil)
	ids := populate(r)
	const nowhere = "op_00000000000000000000000000"
	for _, verb := range []string{"", "/events", "/resolve", "/cancel", "/reopen"} {
		ask := func(as string, id deed.OperationID) string {
			q := request{as: as, method: "GET", path: "/v1/operations/" + string(id) + verb}
			switch verb {
			case "/resolve":
				q.method, q.body = "POST", `{"outcome":"committed","reason":"seen"}`
			case "/cancel", "/reopen":
				q.method, q.body = "POST", `{}`
			}
			got := r.do(q)
			got.problem(404)
			return strings.ReplaceAll(got.Body.String(), string(id), "ID") + fmt.Sprint(got.Header())
		}
		want := ask("stranger", nowhere)
		for _, c := range []struct {
			as string
			id deed.OperationID
		}{{"stranger", ids["done"]}, {"other", ids["done"]}, {"idle", ids["live"]}, {"agent", ids["theirs"]}, {"agent", ids["unknown"]}} {
			got := ask(c.as, c.id)
			if diff := cmp.Diff(strings.ReplaceAll(want, nowhere, "ID"), got); diff != "" {
				t.Errorf("%s tells %s from nothing:\n%s", verb, c.as, diff)
			}
		}
	}
}

func TestAnOperationIsShownWithItsArguments(t *testing.T) {
	r := newRig(t, nil)
	ids := populate(r)
	for _, as := range []string{"agent", "reader", "operator"} {
		var op api.Operation
		r.get(as, "/v1/operations/"+string(ids["done"])).into(200, &op)
		if string(op.Arguments) != `{"order_id":"done"}` || op.Key != "the-refund-of:done" || op.Attempts[0].Outcome != deed.OutcomeSuccess {
			t.Errorf("%s sees %+v", as, op)
		}
	}
	got := r.get("agent", "/v1/operations/"+string(ids["done"]))
	if strings.Contains(got.Body.String(), "nonce") || strings.Contains(got.Body.String(), "claim") {
		t.Errorf("the ledger's own is shown: %s", got.Body)
	}
	var history api.Events
	r.get("agent", "/v1/operations/"+string(ids["done"])+"/events").into(200, &history)
	var names []deed.EventName
	for _, event := range history.Events {
		names = append(names, event.Name)
	}
	if diff := cmp.Diff([]deed.EventName{deed.EventBegun, deed.EventSucceeded, deed.Delivered}, names); diff != "" {
		t.Error(diff)
	}
}

func TestAPersonDecides(t *testing.T) {
	onEveryStore(t, nil, func(r *rig) {
		ids := populate(r)
		path := func(name, verb string) string { return "/v1/operations/" + string(ids[name]) + "/" + verb }
		ask := func(as, name, verb, body string) *response {
			return r.do(request{as: as, method: "POST", path: path(name, verb), body: body})
		}
		var op api.Operation
		ask("reader", "unknown", "resolve", `{"outcome":"committed","reason":"seen"}`).want(403, deed.Denied, deed.ReasonForbidden)
		ask("operator", "unknown", "resolve", `{"outcome":"done","reason":"seen"}`).want(400, deed.Denied, deed.ReasonBadArguments)
		ask("operator", "unknown", "resolve", `{"outcome":"committed"}`).want(400, deed.Denied, deed.ReasonBadArguments)
		ask("operator", "unknown", "resolve", `{"outcome":"abandon","remote_ids":["x"],"reason":"y"}`).want(400, deed.Denied, deed.ReasonBadArguments)
		if p := ask("operator", "unknown", "resolve", `{"outcome":"committed","reason":"seen","version":9}`).problem(409); p.Type != api.ProblemPage+"#version-changed" {
			r.t.Errorf("%+v", p)
		}
		ask("operator", "unknown", "resolve", `{"outcome":"committed","remote_ids":["re_7"],"reason":"seen in the books"}`).into(200, &op)
		if op.Status != deed.StatusCommitted || op.Receipt.RemoteID != "re_7" || op.Receipt.EstablishedBy != "operator:ops" {
			r.t.Errorf("%+v", op)
		}
		p := ask("operator", "unknown", "resolve", `{"outcome":"not_applied","reason":"changed my mind"}`).problem(409)
		if p.Type != api.ProblemPage+"#transition-refused" || p.OperationStatus != deed.StatusCommitted || p.Operation == nil {
			r.t.Errorf("%+v", p)
		}
		ask("reader", "failed", "cancel", `{}`).want(403, deed.Denied, deed.ReasonForbidden)
		op = api.Operation{}
		ask("agent", "failed", "cancel", `{"reason":"no longer wanted"}`).into(200, &op)
		if op.Status != deed.StatusCancelled || op.Message != "no longer wanted" {
			r.t.Errorf("%+v", op)
		}
		ask("agent", "failed", "reopen", `{}`).want(403, deed.Denied, deed.ReasonForbidden)
		ask("operator", "failed", "reopen", `{}`).problem(409)
		ask("agent", "live", "cancel", `{}`).into(200, &op)
		if op.Status != deed.StatusExecuting || !op.NoMoreAttempts {
			r.t.Errorf("%+v", op)
		}
		ask("operator", "live", "resolve", `{"outcome":"not_applied","reason":"impatient"}`).problem(409)
	})
}

func TestAFinalFailureIsReopened(t *testing.T) {
	r := newRig(t, nil)
	granted := r.claim("agent", "")
	r.settle(granted.OperationID, `{"attempt":1,"outcome":"refused","final":true}`).into(200, &api.Operation{})
	var op api.Operation
	r.do(request{as: "operator", method: "POST", path: "/v1/operations/" + string(granted.OperationID) + "/reopen", body: `{"reason":"the order exists now"}`}).into(200, &op)
	if op.Status != deed.StatusFailed || !op.Retryable {
		t.Errorf("%+v", op)
	}
}

func TestStatsCountWhatTheCallerMaySee(t *testing.T) {
	r := newRig(t, nil)
	ids := populate(r)
	r.clock.Advance(time.Minute)
	var all, own, none api.Stats
	r.get("reader", "/v1/stats").into(200, &all)
	r.get("agent", "/v1/stats").into(200, &own)
	r.get("idle", "/v1/stats").into(200, &none)
	want := map[deed.Status]int{deed.StatusCommitted: 1, deed.StatusFailed: 1, deed.StatusUncertain: 2}
	if diff := cmp.Diff(want, all.Statuses); diff != "" || all.OldestUncertain.OperationID != ids["unknown"] {
		t.Errorf("%+v\n%s", all, diff)
	}
	want[deed.StatusUncertain] = 1
	if diff := cmp.Diff(want, own.Statuses); diff != "" || own.OldestUncertain.OperationID != ids["live"] {
		t.Errorf("%+v\n%s", own, diff)
	}
	if len(none.Statuses) != 0 || none.OldestUncertain != nil {
		t.Errorf("%+v", none)
	}
}

func TestWhatWaitsForAPersonIsListed(t *testing.T) {
	r := newRig(t, nil)
	ids := populate(r)
	r.clock.Advance(time.Minute)
	var waiting api.Operations
	r.get("reader", "/v1/operations?needs_person=true&limit=10").into(200, &waiting)
	if len(waiting.Operations) != 2 || waiting.Operations[0].Status != deed.StatusUncertain {
		t.Errorf("%d operations of %v", len(waiting.Operations), ids)
	}
	r.get("reader", "/v1/operations?needs_person=yes").problem(400)
	r.get("reader", "/v1/operations?needs_person=true&status=failed").problem(400)
}
