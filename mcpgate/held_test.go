// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// heldMeta is the _meta of a client of 2026-07-28, with or without the tasks extension.
func heldMeta(tasks bool) string {
	extensions := ""
	if tasks {
		extensions = `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	}
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{` + extensions + `}}`
}

type taskReply struct {
	Result struct {
		ResultType    string          `json:"resultType"`
		TaskID        string          `json:"taskId"`
		Status        string          `json:"status"`
		StatusMessage string          `json:"statusMessage"`
		TTL           *int64          `json:"ttlMs"`
		Poll          int64           `json:"pollIntervalMs"`
		Result        json.RawMessage `json:"result"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// taskClient calls over HTTP as a stateless client does.
type taskClient struct {
	t   *testing.T
	url string
}

func (c taskClient) ask(method, name, params string) taskReply {
	c.t.Helper()
	headers := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	got := post(c.t, c.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), headers...)
	var r taskReply
	if err := json.Unmarshal([]byte(got.body), &r); err != nil {
		c.t.Fatalf("%s: %v", got.body, err)
	}
	return r
}

func (c taskClient) task(method, id string) taskReply {
	c.t.Helper()
	return c.ask(method, "", fmt.Sprintf(`{"taskId":%q,%s}`, id, heldMeta(true)))
}

// holding is a stateless client of a gateway whose tool waits for a person, and the link that a worker would use.
func holding(t *testing.T, rule deed.ApprovalRule) (taskClient, house, mcpgate.Link, *mail) {
	t.Helper()
	m := &mail{}
	h := build(t, nil, hints(func(r *deed.Rule) {
		if r.Mutates() {
			r.Approval = &rule
		}
	}), func(o *mcpgate.GateOptions) { o.RunsApproved = true })
	upstream := mcpgate.LocalUpstream{Tools: m}
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"mail": upstream}, Local: tester, Guard: h.gate}) + "/mcp/mail"
	link := upstream.Open(nil, true)
	t.Cleanup(func() { link.Close() })
	return taskClient{t, url}, h, link, m
}

func (c taskClient) send(tasks bool) taskReply {
	c.t.Helper()
	return c.ask("tools/call", "mail_send", `{"name":"mail_send","arguments":`+mailArguments+`,`+heldMeta(tasks)+`}`)
}

func TestAHeldCallIsATaskForAClientThatTakesTasks(t *testing.T) {
	c, h, link, m := holding(t, deed.ApprovalRule{})
	discovered := post(t, c.url, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+heldMeta(true)+`}}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover")
	mustContain(t, discovered.body, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)

	created := c.send(true).Result
	if created.ResultType != "task" || created.Status != "working" || created.TTL != nil || created.Poll != 5000 {
		t.Fatalf("%+v", created)
	}
	mustContain(t, created.StatusMessage, "a person must approve exactly this action", "It runs by itself once approved.")
	if again := c.send(true).Result; again.TaskID != created.TaskID {
		t.Errorf("a repeat is another task: %s, %s", again.TaskID, created.TaskID)
	}
	// A client that does not take tasks, or not with this request, gets the text.
	if plain := c.send(false); plain.Result.ResultType != "complete" {
		t.Errorf("%+v", plain)
	}
	if got := c.task("tasks/get", created.TaskID).Result; got.ResultType != "complete" || got.Status != "working" || got.Result != nil {
		t.Errorf("%+v", got)
	}
	op := h.approve(t)
	if got := c.task("tasks/get", created.TaskID).Result; got.Status != "working" {
		t.Errorf("%+v", got)
	}
	if _, err := h.gate.RunApproved(t.Context(), link, nil, "t", op.ID); err != nil {
		t.Fatal(err)
	}
	done := c.task("tasks/get", created.TaskID).Result
	if done.Status != "completed" {
		t.Fatalf("%+v", done)
	}
	mustContain(t, string(done.Result), `"structuredContent":{"n":9007199254740993}`, `"resultType":"complete"`, `"status":"committed"`)
	if strings.Contains(string(done.Result), "Already done") {
		t.Errorf("a result that nobody has seen is called an old one: %s", done.Result)
	}
	until(t, "the hand-over", func() bool {
		op, err := h.runtime.Get(t.Context(), tester, op.ID)
		return err == nil && op.Delivered()
	})
	mustContain(t, string(c.task("tasks/get", created.TaskID).Result.Result), "Already done")
	if len(m.calls()) != 1 {
		t.Errorf("%q", m.calls())
	}
}

func TestWhatBecomesOfAHeldTask(t *testing.T) {
	for _, x := range []struct {
		name   string
		end    func(t *testing.T, h house, link mcpgate.Link, m *mail, op *deed.Operation)
		status string
		text   string
	}{
		{"a person says no", func(t *testing.T, h house, _ mcpgate.Link, _ *mail, op *deed.Operation) {
			if _, err := h.runtime.Deny(t.Context(), approver, op.ID, deed.Consent{Digest: op.Approval.Digest, Reason: "not today"}); err != nil {
				t.Fatal(err)
			}
		}, "completed", "ada said no: not today"},
		{"it is cancelled", func(t *testing.T, h house, _ mcpgate.Link, _ *mail, op *deed.Operation) {
			if _, err := h.runtime.Cancel(t.Context(), operator, op.ID, "withdrawn"); err != nil {
				t.Fatal(err)
			}
		}, "cancelled", ""},
		{"the provider refuses it", func(t *testing.T, h house, link mcpgate.Link, m *mail, op *deed.Operation) {
			runHeld(t, h, link, m, op, deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Reason: deed.ReasonRefused, Message: "550 no such user"})
		}, "completed", "was not applied, for certain: 550 no such user"},
		{"nobody knows", func(t *testing.T, h house, link mcpgate.Link, m *mail, op *deed.Operation) {
			runHeld(t, h, link, m, op, deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown})
		}, "completed", "OUTCOME UNKNOWN: do not repeat"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, h, link, m := holding(t, deed.ApprovalRule{})
			id := c.send(true).Result.TaskID
			x.end(t, h, link, m, h.pending(t))
			got := c.task("tasks/get", id).Result
			if got.Status != x.status || !strings.Contains(string(got.Result), x.text) {
				t.Errorf("%+v, %s", got, got.Result)
			}
			if x.text != "" && !strings.Contains(string(got.Result), `"isError":true`) {
				t.Errorf("no error result: %s", got.Result)
			}
		})
	}
}

func runHeld(t *testing.T, h house, link mcpgate.Link, m *mail, op *deed.Operation, out deed.Outcome) {
	t.Helper()
	m.send = nil
	m.answer = &out
	h.approve(t)
	if _, err := h.gate.RunApproved(t.Context(), link, nil, "t", op.ID); err != nil {
		t.Fatal(err)
	}
}

func TestATaskIsCancelledBeforeItIsSentOnly(t *testing.T) {
	c, h, _, m := holding(t, deed.ApprovalRule{})
	id := c.send(true).Result.TaskID
	if got := c.task("tasks/cancel", id); got.Error != nil || got.Result.ResultType != "complete" {
		t.Errorf("%+v", got)
	}
	if got := c.task("tasks/get", id).Result; got.Status != "cancelled" {
		t.Errorf("%+v", got)
	}
	if got := h.status(t); got != deed.StatusCancelled || len(m.calls()) != 0 {
		t.Errorf("%s, %q", got, m.calls())
	}
	if got := c.task("tasks/update", id); got.Error == nil {
		t.Errorf("%+v", got)
	}
}

func TestATaskBelongsToItsActor(t *testing.T) {
	h := build(t, nil, consented(deed.ApprovalRule{}), func(o *mcpgate.GateOptions) { o.RunsApproved = true })
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"mail": mcpgate.LocalUpstream{Tools: &mail{}}}, Principal: byToken, Guard: h.gate}) + "/mcp/mail"
	ask := func(who, method, name, params string) string {
		headers := []string{"Authorization", who, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
		if name != "" {
			headers = append(headers, "Mcp-Name", name)
		}
		return post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), headers...).body
	}
	var r taskReply
	if err := json.Unmarshal([]byte(ask("a", "tools/call", "mail_send", `{"name":"mail_send","arguments":`+mailArguments+`,`+heldMeta(true)+`}`)), &r); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{r.Result.TaskID, "deed-op_01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			mustContain(t, ask("b", method, "", fmt.Sprintf(`{"taskId":%q,%s}`, id, heldMeta(true))), `"code":-32602`, "there is no such task")
		}
	}
	mustContain(t, ask("a", "tasks/get", "", fmt.Sprintf(`{"taskId":%q,%s}`, r.Result.TaskID, heldMeta(true))), `"status":"working"`)
}

func TestNoTaskIsMadeOfACallThatWaitsForItsCaller(t *testing.T) {
	c, _, _, _ := holding(t, deed.ApprovalRule{OnCall: true})
	if got := c.send(true).Result; got.ResultType != "complete" {
		t.Errorf("%+v", got)
	}
}

func TestTasksOfTheUpstreamAreItsOwn(t *testing.T) {
	h := build(t, nil, hints(nil), func(o *mcpgate.GateOptions) { o.RunsApproved = true })
	u := newHeld()
	u.results = map[string]string{"tasks/get": `{"taskId":"task-1","status":"working"}`}
	c := serve(t, mcpgate.Stdio{Name: "held", Upstream: u, Principal: tester, Guard: h.gate, Drain: time.Millisecond})
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"task-1"}}`)
	mustContain(t, c.reply("1"), `{"taskId":"task-1","status":"working"}`)
}

func TestAQuestionOfAHeldToolIsAnsweredThroughItsTask(t *testing.T) {
	h := build(t, nil, consented(deed.ApprovalRule{}), func(o *mcpgate.GateOptions) { o.RunsApproved = true })
	u := newHeld()
	u.offers(`{"name":"add","inputSchema":{"type":"object"}}`)
	url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"held": u}, Local: tester, Guard: h.gate}) + "/mcp/held"
	c := taskClient{t, url}
	id := c.ask("tools/call", "add", `{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-1042:first"},`+heldMeta(true)+`}`).Result.TaskID
	op := h.approve(t)
	ran := make(chan error, 1)
	go func() {
		_, err := h.gate.RunApproved(t.Context(), u, nil, "t", op.ID)
		ran <- err
	}()
	<-u.came
	u.answer(question)
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	asks := post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":%q,%s}}`, id, heldMeta(true)), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tasks/get").body
	mustContain(t, asks, `"status":"input_required"`, `"inputRequests":{"ok":{"method":"elicitation/create","params":{}}}`)

	update := func(inputs string) taskReply {
		return c.ask("tasks/update", "", fmt.Sprintf(`{"taskId":%q,"inputResponses":%s,%s}`, id, inputs, heldMeta(true)))
	}
	if got := update(`{"other":{}}`); got.Error != nil || u.count("tools/call") != 1 {
		t.Errorf("%+v", got)
	}
	if got := update(`{"ok":{"action":"accept"}}`); got.Error != nil || got.Result.ResultType != "complete" {
		t.Fatalf("%+v", got)
	}
	<-u.came
	mustContain(t, u.params(t, 1), `"arguments":{"n":1}`, `"requestState":"s-1"`, `"inputResponses":{"ok":{"action":"accept"}}`)
	if got := c.task("tasks/get", id).Result; got.Status != "working" {
		t.Errorf("%+v", got)
	}
	// Answers that come twice are no second attempt.
	if got := update(`{"ok":{"action":"accept"}}`); got.Error != nil {
		t.Errorf("%+v", got)
	}
	u.answer(doneResult)
	until(t, "the commit", func() bool { return h.status(t) == deed.StatusCommitted })
	if got := c.task("tasks/get", id).Result; got.Status != "completed" || !strings.Contains(string(got.Result), `"T-9"`) {
		t.Errorf("%+v, %s", got, got.Result)
	}
	if n := u.count("tools/call"); n != 2 {
		t.Errorf("the upstream received %d calls", n)
	}
}
