// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// seen is what a caller can tell about one call.
func seen(result caller.Result, err error) string {
	var rpc *caller.RPCError
	var status *caller.StatusError
	switch {
	case errors.As(err, &rpc):
		return fmt.Sprint("rpc ", rpc.Code)
	case errors.As(err, &status):
		return fmt.Sprint("http ", status.Status)
	case errors.Is(err, caller.ErrNoAnswer):
		return "no answer"
	case err != nil:
		return err.Error()
	case result.IsError:
		return "tool error"
	case result.ResultType != "" && result.ResultType != "complete":
		return result.ResultType
	}
	return "result"
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return "no answer"
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.ReadAll(res.Body); err != nil {
		return "no answer"
	}
	if res.StatusCode == http.StatusOK {
		return "result"
	}
	return fmt.Sprint("http ", res.StatusCode)
}

func TestEveryFaultShowsTheSameEffectsThroughEveryDoor(t *testing.T) {
	type sight struct{ Stdio, Streamable, Plain string }
	cases := []struct {
		fault   provider.Fault
		effects int
		want    sight
	}{
		{provider.Fault{Fault: provider.OK}, 1, sight{"result", "result", "result"}},
		{provider.Fault{Fault: provider.Hang, Params: provider.FaultParams{MS: 1}}, 1, sight{"result", "result", "result"}},
		{provider.Fault{Fault: provider.Lose}, 0, sight{"no answer", "no answer", "no answer"}},
		{provider.Fault{Fault: provider.CommitDrop}, 1, sight{"no answer", "no answer", "no answer"}},
		{provider.Fault{Fault: provider.Commit5xx}, 1, sight{"rpc -32603", "http 503", "http 503"}},
		{provider.Fault{Fault: provider.Commit404}, 1, sight{"rpc -32001", "http 404", "http 404"}},
		{provider.Fault{Fault: provider.Reject4xx}, 0, sight{"rpc -32602", "rpc -32602", "http 422"}},
		{provider.Fault{Fault: provider.RejectPrecommit}, 0, sight{"rpc -32603", "http 503", "http 503"}},
		{provider.Fault{Fault: provider.IsError}, 0, sight{"tool error", "tool error", "http 409"}},
		{provider.Fault{Fault: provider.IsError, Params: provider.FaultParams{Commit: true}}, 1, sight{"tool error", "tool error", "http 409"}},
		{provider.Fault{Fault: provider.RPCErrorFault, Params: provider.FaultParams{Code: -32000}}, 0, sight{"rpc -32000", "rpc -32000", "http 500"}},
		{provider.Fault{Fault: provider.HalfJSON}, 1, sight{"no answer", "no answer", "no answer"}},
		{provider.Fault{Fault: provider.Garbage}, 1, sight{"result", "no answer", "result"}},
	}
	for _, version := range []string{caller.Modern, caller.Legacy} {
		f := serve(t)
		for i, c := range cases {
			t.Run(fmt.Sprint(version, " ", c.fault.Fault, " commit=", c.fault.Params.Commit), func(t *testing.T) {
				orders := c.fault
				orders.Times = 3
				must(t, f.SetFaults(t.Context(), orders))
				var got sight
				order := fmt.Sprint("o", i)
				got.Stdio = seen(caller.CallTool(patience(t), f.child(t, version), charge(order)))
				h, err := caller.DialHTTP(t.Context(), f.MCP, version, nil)
				must(t, err)
				defer func() { _ = h.Close() }()
				got.Streamable = seen(caller.CallTool(patience(t), h, charge(order)))
				got.Plain = post(t, f.Tools+"/tools/pay.charge", string(charge(order).Arguments))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("what the callers saw (-want +got):\n%s", diff)
				}
				received, effects := f.counts(t, order)
				if received != 3 || effects != 3*c.effects {
					t.Errorf("received %d, effects %d; want 3 and %d", received, effects, 3*c.effects)
				}
			})
		}
	}
}

func TestEventStreamAnswersAreCutLikeJSONOnes(t *testing.T) {
	f := serve(t, "--sse")
	h, err := caller.DialHTTP(t.Context(), f.MCP, caller.Modern, nil)
	must(t, err)
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.HalfJSON, Times: 1}))
	if got := seen(caller.CallTool(patience(t), h, charge("cut"))); got != "no answer" {
		t.Errorf("cut stream: %s", got)
	}
	if got := seen(caller.CallTool(patience(t), h, charge("whole"))); got != "result" {
		t.Errorf("whole stream: %s", got)
	}
	if _, effects := f.counts(t, "cut"); effects != 1 {
		t.Errorf("effects of the cut call: %d, want 1", effects)
	}
}

func TestAHeldCallCommitsAtTheReleaseEvenWhenItsCallerIsGone(t *testing.T) {
	f := serve(t)
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.Hang, Times: 1}))
	child := f.child(t, caller.Modern)
	sent := make(chan string, 1)
	go func() { sent <- seen(caller.CallTool(t.Context(), child, charge("held"))) }()
	must(t, f.AwaitHeld(patience(t), "pay.charge", 1))
	child.Kill()
	if got := <-sent; got != "no answer" {
		t.Errorf("the killed child answered: %s", got)
	}
	if _, effects := f.counts(t, "held"); effects != 0 {
		t.Errorf("effects before the release: %d", effects)
	}
	must(t, f.Release(t.Context(), ""))
	_, err := f.Effects(patience(t), provider.Selection{Op: "held", AtLeast: 1})
	must(t, err)
}

func TestACommittedCallThatNeverAnswersEndsAtTheRelease(t *testing.T) {
	f := serve(t)
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.CommitHang, Times: 1}))
	h, err := caller.DialHTTP(t.Context(), f.MCP, caller.Modern, nil)
	must(t, err)
	sent := make(chan string, 1)
	go func() { sent <- seen(caller.CallTool(t.Context(), h, charge("silent"))) }()
	_, err = f.Effects(patience(t), provider.Selection{Op: "silent", AtLeast: 1})
	must(t, err)
	must(t, f.AwaitHeld(patience(t), "pay.charge", 1))
	must(t, f.Release(t.Context(), "pay.charge"))
	if got := <-sent; got != "no answer" {
		t.Errorf("got %s", got)
	}
}

func TestARefusedConnectionReceivesNothing(t *testing.T) {
	f := serve(t)
	child := f.child(t, caller.Legacy)
	must(t, f.SetFaults(t.Context(), provider.Fault{Fault: provider.RefuseConn}))
	<-child.Exited()
	if got := post(t, f.Tools+"/tools/pay.charge", `{"order_id":"shut"}`); got != "no answer" {
		t.Errorf("plain HTTP: %s", got)
	}
	if _, err := caller.StartStdio(patience(t), caller.Command{Path: fixture, Args: []string{"stdio", "--server", f.Control}}); err == nil {
		t.Error("a stdio child started while connections are refused")
	}
	if received, effects := f.counts(t, "shut"); received != 0 || effects != 0 {
		t.Errorf("received %d, effects %d", received, effects)
	}
	must(t, f.Release(t.Context(), ""))
	if got := post(t, f.Tools+"/tools/pay.charge", `{"order_id":"open"}`); got != "result" {
		t.Errorf("after the release: %s", got)
	}
}
