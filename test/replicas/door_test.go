// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/caller"
)

// verdict is what a call was told, through whichever door.
type verdict struct {
	decision, reason string
	status           string
	remote           string
	err              error
}

func (v verdict) String() string {
	if v.err != nil {
		return "error: " + v.err.Error()
	}
	return fmt.Sprintf("%s/%s %s", v.decision, v.reason, v.remote)
}

// door is a way to call a tool of the shop at a gateway's address, once.
type door struct {
	name string
	call func(ctx context.Context, base, key, tool string, arguments object) verdict
}

func doors() []door {
	return []door{
		{"v1", callV1},
		{"mcp", func(ctx context.Context, base, key, tool string, arguments object) verdict {
			return callMCP(ctx, base, caller.Legacy, key, tool, arguments)
		}},
		{"mcp-stateless", func(ctx context.Context, base, key, tool string, arguments object) verdict {
			return callMCP(ctx, base, caller.Modern, key, tool, arguments)
		}},
	}
}

// plain is a client without kept connections, which never repeats a request.
func plain() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

func callV1(ctx context.Context, base, key, tool string, arguments object) verdict {
	client, err := api.New(api.Options{BaseURL: base, HTTP: plain()})
	if err != nil {
		return verdict{err: err}
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return verdict{err: err}
	}
	answer, err := client.Call(ctx, deed.Tool("shop/"+tool), key, api.CallRequest{Arguments: raw})
	found := answer.Verdict
	if problem, is := api.AsProblem(err); is {
		found = problem.Verdict
	} else if err != nil {
		return verdict{err: err}
	}
	v := verdict{decision: string(found.Decision), reason: string(found.Reason)}
	if op := found.Operation; op != nil {
		v.status = string(op.Status)
		if op.Receipt != nil {
			v.remote = op.Receipt.RemoteID
		}
	}
	return v
}

func callMCP(ctx context.Context, base, version, key, tool string, arguments object) verdict {
	session, err := caller.DialHTTP(ctx, base+"/mcp/shop", version, nil)
	if err != nil {
		return verdict{err: err}
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return verdict{err: err}
	}
	call := caller.Call{Tool: tool, Arguments: raw}
	if key != "" {
		call.Meta = object{"deed/idempotency-key": key}
	}
	result, err := caller.CallTool(ctx, session, call)
	err = errors.Join(err, session.Close())
	if err != nil || result.Operation == nil {
		return verdict{decision: "passed", err: err}
	}
	op := result.Operation
	return verdict{decision: op.Decision, reason: op.Reason, status: op.Status, remote: op.RemoteID()}
}

// charge calls pay.charge at a gateway.
func (f *fleet) charge(d door, i int, key, order string) verdict {
	return d.call(f.Context(), "http://"+f.addresses[i], key, "pay.charge", object{"order_id": order, "amount": 100})
}

// together makes so many equal calls at the same moment, at the gateways in
// turn.
func (f *fleet) together(d door, n int, key, order string) []verdict {
	told := make([]verdict, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { told[i] = f.charge(d, i%len(f.addresses), key, order) })
	}
	calls.Wait()
	return told
}

// oneExecuted checks that one of the calls had the effect and that the others
// got its receipt, or were told that it is under way.
func (f *fleet) oneExecuted(told []verdict) {
	f.Helper()
	executed, remote := 0, ""
	for _, v := range told {
		if v.decision == "execute" && v.status == "committed" {
			executed, remote = executed+1, v.remote
		}
	}
	if executed != 1 || remote == "" {
		f.Fatalf("%d of %d calls had the effect: %v", executed, len(told), told)
	}
	for _, v := range told {
		switch {
		case v.err != nil:
			f.Error(v.err)
		case v.decision == "in_progress", v.decision == "execute":
		case v.decision != "replay" || v.remote != remote:
			f.Errorf("a repeat was answered %s, the receipt is %s", v, remote)
		}
	}
}
