// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/deed-run/deed"
)

// MCPAnswer is a whole JSON-RPC reply to a tools/call: one of Result and Error is set. Status is the HTTP status that it came with, 0 on
// stdio, and Header what came with it.
type MCPAnswer struct {
	Result json.RawMessage
	Error  json.RawMessage
	Status int
	Header http.Header
}

// JSON-RPC 2.0 section 5.1.
const (
	methodNotFound = -32601
	invalidParams  = -32602
)

// MCP classifies a whole answer to a tools/call (docs/architecture.md, "Outcomes"). A result is a success unless it is marked as an error, asks a
// question (2026-07-28 input_required) or promises a later answer (a task).
func MCP(answer MCPAnswer, rules Rules) deed.Outcome {
	if answer.Error != nil {
		return mcpError(answer, rules)
	}
	if plainSuccess(answer.Result, rules) {
		return success(answer.Result, rules.Receipt)
	}
	var result struct {
		ResultType   string          `json:"resultType"`
		IsError      json.RawMessage `json:"isError"`
		RequestState json.RawMessage `json:"requestState"`
		TaskID       string          `json:"taskId"`
		Task         struct {
			TaskID string `json:"taskId"`
		} `json:"task"`
		Content json.RawMessage `json:"content"`
	}
	trimmed := bytes.TrimSpace(answer.Result)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return unknown("the result is no object")
	}
	// Members that are not of the expected kind stay zero: an odd result of a call that happened is still a result.
	_ = json.Unmarshal(lenient(trimmed), &result)
	switch {
	case result.ResultType == "input_required":
		// A question without a state is told from none at all.
		if result.RequestState == nil {
			result.RequestState = json.RawMessage("null")
		}
		return deed.Outcome{Kind: deed.OutcomeInputRequired, Result: answer.Result, RequestState: result.RequestState}
	case result.ResultType == "task" && result.TaskID != "":
		return deed.Outcome{Kind: deed.OutcomeTask, TaskID: result.TaskID, Result: answer.Result}
	case result.Task.TaskID != "" && result.Content == nil:
		return deed.Outcome{Kind: deed.OutcomeTask, TaskID: result.Task.TaskID, Result: answer.Result}
	}
	text := Text(trimmed)
	isError := string(bytes.TrimSpace(result.IsError)) == "true"
	if out, ok := rules.refused(seen{text: text, status: answer.Status, header: answer.Header}, isError); ok {
		out.Result, out.ResultIsError, out.Message = answer.Result, isError, text
		return out
	}
	if isError {
		return deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, Message: text, Result: answer.Result, ResultIsError: true}
	}
	return success(answer.Result, rules.Receipt)
}

// plainSuccess recognises what most answers are: a whole object that is not marked as an error, asks nothing and promises nothing, of a tool
// no rule of which looks into successes. It says no where it is not sure, and a closer look is taken.
func plainSuccess(result []byte, rules Rules) bool {
	if slices.ContainsFunc(rules.Failed, func(f Failed) bool { return f.AnyResult }) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil || members == nil {
		return false
	}
	for _, name := range [...]string{"taskId", "task"} {
		if _, has := members[name]; has {
			return false
		}
	}
	if kind, typed := members["resultType"]; typed && string(kind) != `"complete"` {
		return false
	}
	isError, marked := members["isError"]
	return !marked || string(isError) == "false"
}

// lenient keeps the members that MCP reads and drops the others, whose numbers may not fit a decoder.
func lenient(result []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return result
	}
	kept := map[string]json.RawMessage{}
	for _, name := range []string{"resultType", "isError", "requestState", "taskId", "task", "content"} {
		if value, ok := members[name]; ok {
			kept[name] = value
		}
	}
	if task, ok := kept["task"]; ok && !strings.HasPrefix(strings.TrimSpace(string(task)), "{") {
		delete(kept, "task")
	}
	for _, name := range []string{"resultType", "taskId"} {
		if value, ok := kept[name]; ok && value[0] != '"' {
			delete(kept, name)
		}
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return result
	}
	return out
}

func (r Rules) refused(s seen, isError bool) (deed.Outcome, bool) {
	for _, f := range r.Failed {
		if (isError || f.AnyResult) && f.matches(s) {
			return f.refusal(s), true
		}
	}
	if !isError {
		return deed.Outcome{}, false
	}
	if r.ErrorsAreFailures {
		return deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true}, true
	}
	for _, pattern := range refusals {
		if pattern.MatchString(s.text) {
			return deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true}, true
		}
	}
	return deed.Outcome{}, false
}

func mcpError(answer MCPAnswer, rules Rules) deed.Outcome {
	var e struct {
		Code    json.Number `json:"code"`
		Message string      `json:"message"`
	}
	if err := json.Unmarshal(answer.Error, &e); err != nil {
		return unknown("the error is malformed")
	}
	code, _ := e.Code.Int64()
	n := int(code)
	for _, f := range rules.Failed {
		if s := (seen{e.Message, &n, answer.Status, answer.Header}); f.matches(s) {
			return f.refusal(s)
		}
	}
	refused := deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true, Message: e.Message}
	switch {
	case code == methodNotFound:
		return refused
	case code == invalidParams && inputText.MatchString(e.Message) && !outputText.MatchString(e.Message):
		return refused
	case answer.Status >= 400 && answer.Status < 500:
		out := HTTP(answer.Status, answer.Header)
		out.Message = e.Message
		return out
	}
	out := unknown(e.Message)
	out.Reason = deed.ReasonOutcomeUnknown
	return out
}

func unknown(text string) deed.Outcome {
	return deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown, Message: text}
}

// Text returns the text blocks of an MCP tool result, one per line.
func Text(result []byte) string {
	var r struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	var texts []string
	for _, raw := range r.Content {
		var block struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &block) == nil && block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}
