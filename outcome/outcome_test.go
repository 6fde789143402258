// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// verdict is the part of an outcome that decides what may happen next.
type verdict struct {
	Kind   deed.OutcomeKind
	Reason deed.Reason
	Final  bool
}

func of(o deed.Outcome) verdict { return verdict{o.Kind, o.Reason, o.Final} }

var (
	done      = verdict{Kind: deed.OutcomeSuccess}
	refused   = verdict{deed.OutcomeRefused, deed.ReasonRefused, true}
	retryable = verdict{deed.OutcomeRefused, deed.ReasonRefused, false}
	open      = verdict{deed.OutcomeUnknown, deed.ReasonOutcomeUnknown, false}
	toolError = verdict{deed.OutcomeUnknown, deed.ReasonToolError, false}
)

func TestMCPAnswers(t *testing.T) {
	failed := func(text string) string { return `{"isError":true,"content":[{"type":"text","text":"` + text + `"}]}` }
	for _, c := range []struct {
		name, result, err string
		status            int
		rules             outcome.Rules
		want              verdict
	}{
		{name: "a plain result is a success", result: `{"content":[]}`, want: done},
		{name: "an explicit isError false is a success", result: `{"content":[],"isError":false}`, want: done},
		{name: "an unknown content type is a success", result: `{"content":[{"type":"hologram"}]}`, want: done},
		{name: "a number out of the float range is a success", result: `{"content":[],"structuredContent":{"n":1e999}}`, want: done},
		{name: "a result without content is a success", result: `{}`, want: done},
		{name: "members of the wrong kind do not hide a success", result: `{"task":7,"taskId":1,"resultType":2}`, want: done},
		{name: "a result that is no object proves nothing", result: `[]`, want: open},
		{name: "an error result may have happened", result: failed("boom"), want: toolError},
		{name: "an error result that only mentions a refusal may have happened", result: failed("row 3: Input validation error: x"), want: toolError},
		{name: "refused input as an error result is final", result: failed("MCP error -32602: Input validation error: Invalid arguments for tool x"), want: refused},
		{name: "a missing file is final", result: failed("ENOENT: no such file or directory, open '/x'"), want: refused},
		{name: "an existing file is final", result: failed("Error: EEXIST: file already exists, mkdir '/x'"), want: refused},
		{name: "a forbidden path is final", result: failed("Access denied - path outside allowed directories: /x"), want: refused},
		{name: "an unknown tool is final", result: failed("Unknown tool: nope"), want: refused},
		{name: "honest servers' error results are failures", result: failed("boom"), rules: outcome.Rules{ErrorsAreFailures: true}, want: refused},
		{name: "a rule makes an error result a final failure", result: failed("invalid amount"), rules: rule("^invalid", true, false), want: refused},
		{name: "a rule makes an error result retryable", result: failed("busy"), rules: rule("^busy", false, false), want: retryable},
		{name: "a rule is for error results only", result: `{"content":[{"type":"text","text":"invalid amount"}]}`, rules: rule("^invalid", true, false), want: done},
		{name: "a rule on any result reaches unmarked ones", result: `{"content":[{"type":"text","text":"invalid amount"}]}`, rules: rule("^invalid", true, true), want: refused},
		{name: "a question waits for input", result: `{"resultType":"input_required","requestState":"s"}`, want: verdict{Kind: deed.OutcomeInputRequired}},
		{name: "a task is evidence", result: `{"resultType":"task","taskId":"t1"}`, want: verdict{Kind: deed.OutcomeTask}},
		{name: "a 2025-11-25 task is evidence", result: `{"task":{"taskId":"t1","status":"working"}}`, want: verdict{Kind: deed.OutcomeTask}},
		{name: "an unknown method is final", err: `{"code":-32601,"message":"x"}`, want: refused},
		{name: "-32602 about input is final", err: `{"code":-32602,"message":"Invalid arguments for tool x"}`, want: refused},
		{name: "-32602 of the go-sdk about input is final", err: `{"code":-32602,"message":"invalid params: validating \"arguments\": required: missing properties"}`, want: refused},
		{name: "-32602 about the output comes after the effect", err: `{"code":-32602,"message":"Output validation error: Invalid structured content for tool x"}`, want: open},
		{name: "-32602 about nothing known may have happened", err: `{"code":-32602,"message":"no"}`, want: open},
		{name: "an internal error may have happened", err: `{"code":-32603,"message":"boom"}`, want: open},
		{name: "a code of the implementation may have happened", err: `{"code":-32000,"message":"x"}`, want: open},
		{name: "a malformed error may have happened", err: `"x"`, want: open},
		{name: "a rule makes an error a failure", err: `{"code":-32000,"message":"invalid state"}`, rules: rule("^invalid", true, false), want: refused},
		{name: "a 400 with an error is refused", err: `{"code":-32020,"message":"header mismatch"}`, status: 400, want: refused},
		{name: "a 404 with another error may have happened", err: `{"code":-32000,"message":"x"}`, status: 404, want: open},
		{name: "a required receipt that is missing leaves it open", result: `{"content":[]}`, rules: outcome.Rules{Receipt: outcome.Pointers{ID: "/id", Require: true}}, want: open},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := outcome.MCPAnswer{Status: c.status}
			if c.result != "" {
				answer.Result = []byte(c.result)
			} else {
				answer.Error = []byte(c.err)
			}
			if diff := cmp.Diff(c.want, of(outcome.MCP(answer, c.rules))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func rule(text string, final, anyResult bool) outcome.Rules {
	return outcome.Rules{Failed: []outcome.Failed{{Text: regexp.MustCompile(text), Final: final, AnyResult: anyResult}}}
}

func TestHTTPStatuses(t *testing.T) {
	final := map[int]bool{400: true, 401: true, 403: true, 405: true, 406: true, 411: true, 413: true, 414: true, 415: true, 417: true, 422: true, 428: true, 431: true}
	for status := 100; status < 600; status++ {
		want := open
		switch {
		case status >= 200 && status < 300:
			want = done
		case final[status]:
			want = refused
		case status == 429:
			want = retryable
		}
		if diff := cmp.Diff(want, of(outcome.HTTP(status, nil))); diff != "" {
			t.Errorf("HTTP %d: %s", status, diff)
		}
	}
	if got := outcome.HTTP(429, http.Header{"Retry-After": {"7"}}).RetryAfter; got != 7*time.Second {
		t.Errorf("retry after %v", got)
	}
}

func TestLostAnswers(t *testing.T) {
	unsent := outcome.Lost(true, "connection refused")
	if diff := cmp.Diff(verdict{deed.OutcomeUnsent, deed.ReasonNotSent, false}, of(unsent)); diff != "" || unsent.RetryAfter != time.Second {
		t.Errorf("%s, retry after %v", diff, unsent.RetryAfter)
	}
	if diff := cmp.Diff(open, of(outcome.Lost(false, "EOF"))); diff != "" {
		t.Error(diff)
	}
}

func TestReceiptPointers(t *testing.T) {
	doc := []byte(`{"a/b":{"~x":[{"id":9007199254740993},{"id":"T-1"}]},"t":true}`)
	for pointer, want := range map[string]string{
		"/a~1b/~0x/0/id": "9007199254740993", "/a~1b/~0x/1/id": "T-1", "/a~1b/~0x/2/id": "", "/t": "", "/nope/x": "", "": "", "a": "",
	} {
		if got := outcome.Lookup(doc, pointer); got != want {
			t.Errorf("%s: got %q, want %q", pointer, got, want)
		}
	}
	out := outcome.MCP(outcome.MCPAnswer{Result: []byte(`{"structuredContent":{"id":"T-1","url":"https://x"}}`)},
		outcome.Rules{Receipt: outcome.Pointers{System: "linear", ID: "/structuredContent/id", URL: "/structuredContent/url"}})
	if out.Receipt.RemoteSystem != "linear" || out.Receipt.RemoteID != "T-1" || out.Receipt.RemoteURL != "https://x" {
		t.Errorf("got %+v", out.Receipt)
	}
}
