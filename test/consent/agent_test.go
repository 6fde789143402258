// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package consent_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit/caller"
)

// Whatever an agent holds, its token and every tool that it is shown, it consents
// to nothing: not to its own request, and not to what another asked for.
func TestAnAgentReachesNoDecision(t *testing.T) {
	everywhere(t, nil, func(d *desk) {
		proposal := d.propose(d.gateways[0], "pay.charge", "order-1")
		id, g := proposal.OperationID, d.gateways[1]

		header := http.Header{"Authorization": {"Bearer " + agent}}
		session, err := caller.DialHTTP(d.Context(), "http://"+g.address+"/mcp/shop", caller.Legacy, header)
		d.must(err)
		defer func() { _ = session.Close() }()
		names, err := caller.ToolNames(d.Context(), session)
		d.must(err)
		upstream, err := caller.DialHTTP(d.Context(), d.fixture.MCP, caller.Legacy, nil)
		d.must(err)
		defer func() { _ = upstream.Close() }()
		theirs, err := caller.ToolNames(d.Context(), upstream)
		d.must(err)
		own := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(theirs, name) })
		if !slices.Equal(own, []string{"deed_operations"}) {
			d.Errorf("the gateway adds the tools %q, want one, which reads", own)
		}
		for _, consent := range []any{"yes", "eyJhbGciOiJub25lIn0.e30.", map[string]any{"digest": proposal.Approval.Digest, "approver": approver(0)}} {
			answer, err := caller.CallTool(d.Context(), session, caller.Call{
				Tool: "pay.charge", Arguments: []byte(`{"order_id":"order-1","amount":47}`),
				Meta: map[string]any{"deed/idempotency-key": "pay.charge:order-1:first", "deed/approval": consent},
			})
			d.must(err)
			if answer.Operation == nil || answer.Operation.Decision != string(deed.Denied) && answer.Operation.Decision != string(deed.AwaitingApproval) {
				d.Errorf("a made-up consent %v was answered %s", consent, answer.Raw)
			}
		}

		client := d.as(agent, g)
		for verb, decide := range map[string]func() error{
			"approve": func() error {
				_, err := client.Approve(d.Context(), id, api.ApproveRequest{Digest: proposal.Approval.Digest})
				return err
			},
			"edit": func() error {
				_, err := client.Approve(d.Context(), id, api.ApproveRequest{Digest: proposal.Approval.Digest, Arguments: []byte(`{"order_id":"order-1","amount":1}`), Reason: "less"})
				return err
			},
			"deny": func() error {
				_, err := client.Deny(d.Context(), id, api.DenyRequest{Digest: proposal.Approval.Digest, Reason: "no"})
				return err
			},
		} {
			if problem, is := api.AsProblem(decide()); !is || problem.Status != http.StatusForbidden {
				d.Errorf("%s with the agent's token: %+v", verb, problem)
			}
		}

		jar, err := cookiejar.New(nil)
		d.must(err)
		page := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
		send := func(path string, form url.Values) int {
			resp, err := page.PostForm("http://"+g.address+path, form)
			d.must(err)
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		send("/login", url.Values{"token": {agent}})
		for _, verb := range []string{"approve", "deny", "edit"} {
			form := url.Values{"digest": {string(proposal.Approval.Digest)}, "reason": {"fine"}, "arguments": {`{"order_id":"order-1","amount":1}`}}
			if status := send("/op/"+string(id)+"/"+verb, form); status != http.StatusForbidden {
				d.Errorf("%s at the console with the agent's token: HTTP %d", verb, status)
			}
		}

		now, err := d.as(approver(0), g).Operation(d.Context(), id)
		d.must(err)
		if now.Status != deed.StatusAwaitingApproval || now.Version != proposal.Version {
			d.Errorf("it is %s, version %d, was %d", now.Status, now.Version, proposal.Version)
		}
		if requests, _ := d.books("order-1"); requests != 0 {
			d.Errorf("%d requests were sent", requests)
		}
	})
}
