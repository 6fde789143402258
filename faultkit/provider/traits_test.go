// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

func TestAQuestionIsAnsweredByTheContinuation(t *testing.T) {
	f := serve(t)
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.InputRequired, Times: 1}))
	child := f.child(t, caller.Modern)
	asked, err := caller.CallTool(patience(t), child, charge("asked"))
	must(t, err)
	if asked.ResultType != "input_required" || asked.RequestState == "" {
		t.Fatalf("got %s", asked.Raw)
	}
	again := charge("asked")
	again.RequestState = asked.RequestState
	again.InputResponses = map[string]any{"confirm": map[string]any{"action": "accept"}}
	if got := seen(caller.CallTool(patience(t), child, again)); got != "result" {
		t.Errorf("continuation: %s", got)
	}
	if received, effects := f.counts(t, "asked"); received != 2 || effects != 1 {
		t.Errorf("received %d, effects %d", received, effects)
	}
}

func TestATaskCommitsAfterItsHandle(t *testing.T) {
	f := serve(t)
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.Task, Times: 1}))
	child := f.child(t, caller.Modern)
	begun, err := caller.CallTool(patience(t), child, charge("task"))
	must(t, err)
	var handle struct{ TaskID, Status string }
	must(t, json.Unmarshal(begun.Raw, &handle))
	must(t, f.AwaitHeld(patience(t), "", 1))
	if _, effects := f.counts(t, "task"); effects != 0 || handle.Status != "working" {
		t.Errorf("effects %d, status %s", effects, handle.Status)
	}
	must(t, f.Release(t.Context(), ""))
	_, err = f.Effects(patience(t), provider.Selection{Op: "task", AtLeast: 1})
	must(t, err)
	for handle.Status == "working" {
		state, err := child.Request(patience(t), "tasks/get", map[string]any{"taskId": handle.TaskID})
		must(t, err)
		must(t, json.Unmarshal(state, &handle))
	}
	if handle.Status != "completed" {
		t.Errorf("status %s", handle.Status)
	}
}

func TestABatchTakesEffectItemByItem(t *testing.T) {
	f := serve(t)
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.Partial, Times: 1, Params: provider.FaultParams{K: 2}}))
	got := post(t, f.Tools+"/tools/bulk.create", `{"items":[{"id":"a"},{"id":"b"},{"id":"c"}]}`)
	effects, err := f.Effects(t.Context(), provider.Selection{})
	must(t, err)
	ops := []string{}
	for _, e := range effects {
		ops = append(ops, e.Op)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ops); diff != "" || got != "result" {
		t.Errorf("%s: effects (-want +got):\n%s", got, diff)
	}
}

func TestAProviderThatHonoursKeysReplaysAndRefusesReuse(t *testing.T) {
	f := serve(t, "--provider-key-support")
	key := http.Header{"Idempotency-Key": {"k-1"}}
	h, err := caller.DialHTTP(t.Context(), f.MCP, caller.Modern, key)
	must(t, err)
	first, err := caller.CallTool(patience(t), h, charge("keyed"))
	must(t, err)
	second, err := caller.CallTool(patience(t), h, charge("keyed"))
	must(t, err)
	if diff := cmp.Diff(string(first.Structured), string(second.Structured)); diff != "" {
		t.Errorf("replay differs (-first +second):\n%s", diff)
	}
	if got := seen(caller.CallTool(patience(t), h, charge("other"))); got != "rpc -32602" {
		t.Errorf("reused key: %s", got)
	}
	if received, effects := f.counts(t, "keyed"); received != 2 || effects != 1 {
		t.Errorf("received %d, effects %d", received, effects)
	}
}

func TestLookUpsSeeWhatTheirSettingLetsThem(t *testing.T) {
	find := caller.Call{Tool: "ticket.search", Arguments: json.RawMessage(`{"q":"m-77"}`)}
	cases := []struct {
		lookup provider.Lookup
		want   string
		items  int
	}{
		{provider.Found, "result", 1},
		{provider.LookupAbsent, "result", 0},
		{provider.Unavailable, "http 503", 0},
		{provider.NoLookup, "rpc -32602", 0},
	}
	for _, c := range cases {
		t.Run(string(c.lookup), func(t *testing.T) {
			f := serve(t, "--lookup", string(c.lookup))
			h, err := caller.DialHTTP(t.Context(), f.MCP, caller.Modern, nil)
			must(t, err)
			_, err = caller.CallTool(patience(t), h, caller.Call{
				Tool: "ticket.create", Arguments: json.RawMessage(`{"id":"t1","description":"broken <!-- m-77 -->"}`),
			})
			must(t, err)
			result, err := caller.CallTool(patience(t), h, find)
			var found struct{ Items []map[string]any }
			_ = json.Unmarshal(result.Structured, &found)
			if got := seen(result, err); got != c.want || len(found.Items) != c.items {
				t.Errorf("got %s with %d items, want %s with %d", got, len(found.Items), c.want, c.items)
			}
			effects, err := f.Effects(t.Context(), provider.Selection{Op: "t1"})
			must(t, err)
			if len(effects) != 1 || effects[0].Marker != "m-77" {
				t.Errorf("effects %+v", effects)
			}
		})
	}
}

func TestAnnotationsAreAsHonestAsTheSettingSays(t *testing.T) {
	for annotations, want := range map[string]string{"honest": `"readOnlyHint":false`, "lying": `"readOnlyHint":true`, "absent": ""} {
		f := serve(t, "--annotations", annotations)
		list, err := f.child(t, caller.Legacy).Request(patience(t), "tools/list", map[string]any{})
		must(t, err)
		first, _, _ := strings.Cut(string(list), `"pay.refund"`)
		if want == "" && strings.Contains(first, "annotations") || !strings.Contains(first, want) {
			t.Errorf("%s: %s", annotations, first)
		}
	}
}

func TestALostSessionIs404AndCountsNothing(t *testing.T) {
	f := serve(t)
	h, err := caller.DialHTTP(t.Context(), f.MCP, caller.Legacy, nil)
	must(t, err)
	must(t, f.ForgetSessions(t.Context()))
	if got := seen(caller.CallTool(patience(t), h, charge("lost"))); got != "http 404" {
		t.Errorf("got %s", got)
	}
	if received, _ := f.counts(t, "lost"); received != 0 {
		t.Errorf("received %d", received)
	}
}

func TestAStandaloneChildResumesItsLedgerAndDoesNotRepeatItsFaults(t *testing.T) {
	dir := t.TempDir()
	command := caller.Command{Path: fixture, Args: []string{
		"stdio", "--dir", dir, "--faults", `[{"tool":"pay.charge","fault":"commit_drop","times":1}]`,
	}}
	want := []string{"no answer", "result"}
	for i := range want {
		s, err := caller.StartStdio(t.Context(), command)
		must(t, err)
		if got := seen(caller.CallTool(patience(t), s, charge("o1"))); got != want[i] {
			t.Errorf("process %d: %s, want %s", i, got, want[i])
		}
		_ = s.Close()
	}
	ledger, err := os.ReadFile(filepath.Join(dir, provider.EffectsFile))
	must(t, err)
	if n := strings.Count(string(ledger), "\n"); n != 2 {
		t.Errorf("%d effects in the file, want 2", n)
	}
}

func TestATornLastLineIsNotAnEffect(t *testing.T) {
	dir := t.TempDir()
	p, err := provider.Open(provider.Options{Dir: dir})
	must(t, err)
	p.Call(t.Context(), provider.Call{Tool: "mail.send", Arguments: json.RawMessage(`{"id":"m1"}`)})
	must(t, p.Close())
	file, err := os.OpenFile(filepath.Join(dir, provider.EffectsFile), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString(`{"seq":2,"op":"m`)
	must(t, err)
	must(t, file.Close())
	p, err = provider.Open(provider.Options{Dir: dir})
	must(t, err)
	p.Call(t.Context(), provider.Call{Tool: "mail.send", Arguments: json.RawMessage(`{"id":"m2"}`)})
	effects, err := p.Effects(t.Context(), provider.Selection{})
	must(t, err)
	must(t, p.Close())
	if len(effects) != 2 || effects[1].Seq != 2 || effects[1].Op != "m2" {
		t.Errorf("effects %+v", effects)
	}
}

func TestAWrongOrderIsRefusedWhole(t *testing.T) {
	f := serve(t)
	for _, wrong := range []provider.Fault{{Fault: "explode"}, {Fault: provider.OK, Tool: "pay.steal"}, {Fault: provider.OK, Times: -1}} {
		if err := f.SetFaults(t.Context(), provider.Fault{Fault: provider.CommitDrop}, wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
	if got := post(t, f.Tools+"/tools/pay.charge", `{"order_id":"fine"}`); got != "result" {
		t.Errorf("a refused list left a fault behind: %s", got)
	}
}

func TestAResetStartsOver(t *testing.T) {
	f := serve(t)
	must(t, f.Configure(t.Context(), provider.Settings{Annotations: provider.Absent, Lookup: provider.NoLookup}))
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.Commit5xx}))
	post(t, f.Tools+"/tools/pay.charge", `{"order_id":"before"}`)
	must(t, f.Reset(t.Context()))
	if received, effects := f.counts(t, "before"); received != 0 || effects != 0 {
		t.Errorf("received %d, effects %d after the reset", received, effects)
	}
	if got := post(t, f.Tools+"/tools/pay.get", `{"order_id":"before"}`); got != "result" {
		t.Errorf("look-up after the reset: %s", got)
	}
}
