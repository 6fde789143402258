// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// shownError bounds how much of an error's body is kept.
const shownError = 64 << 10

// classify says what a whole answer proves: duplicates, the tool's own rules, what a success must hold, the shipped table. A duplicate is
// unknown until it was looked up.
func (t *tool) classify(a answer, args []byte) (out deed.Outcome, duplicate bool) {
	duplicate = slices.ContainsFunc(t.duplicates, func(c rule) bool { return c.fits(a) })
	if duplicate {
		out = unknown(a, "the provider says that it exists already, which does not say whose it is")
	} else {
		out = t.judge(a, args)
	}
	isError := out.Kind != deed.OutcomeSuccess
	out.Result = a.shown(isError)
	out.ResultIsError = isError
	if isError && len(a.body) > 0 {
		out.Message = out.Message + ": " + abridged(a.body)
	}
	return out, duplicate
}

func (t *tool) judge(a answer, args []byte) deed.Outcome {
	for _, c := range t.refusals {
		if c.fits(a) {
			return c.refusal(a)
		}
	}
	if !isSuccess(a.status) {
		return outcome.HTTP(a.status, a.header)
	}
	if t.success != nil && !t.success.fits(a) {
		return unknown(a, "the answer does not say that it was accepted")
	}
	if pointer := errorsAt(a, t.errors); pointer != "" {
		return unknown(a, "the answer tells of errors at "+pointer)
	}
	out := deed.Outcome{Kind: deed.OutcomeSuccess}
	if t.items != nil {
		out = t.items.outcome(a, args)
	}
	out.Receipt.RemoteSystem = t.receipt.system
	out.Receipt.RemoteID = t.receipt.id.of(a, args)
	out.Receipt.RemoteURL = t.receipt.url.of(a, args)
	if out.Kind == deed.OutcomeSuccess && t.receipt.require && out.Receipt.RemoteID == "" {
		return unknown(a, "the answer does not hold the receipt's id")
	}
	return out
}

func unknown(a answer, text string) deed.Outcome {
	return deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown, Message: "HTTP " + strconv.Itoa(a.status) + ", " + text}
}

// errorsAt is the first of the places that is not empty. In an answer that cannot be read none of them is.
func errorsAt(a answer, pointers []string) string {
	for _, pointer := range pointers {
		raw, found, err := arguments(a.body).pick(pointer)
		if !a.json || err != nil || found && !hollow(raw) {
			return pointer
		}
	}
	return ""
}

// hollow: an empty list, object or text tells of no error.
func hollow(raw json.RawMessage) bool {
	switch string(raw) {
	case "[]", "{}", `""`, "false":
		return true
	}
	return false
}

// outcome sums up the items that the answer lists. What was sent and is not listed is unknown.
func (i *items) outcome(a answer, args []byte) deed.Outcome {
	raw, found, err := arguments(a.body).pick(i.at)
	var listed []json.RawMessage
	if !a.json || err != nil || !found || json.Unmarshal(raw, &listed) != nil {
		return unknown(a, "the answer lists no items at "+i.at)
	}
	var list []deed.Item
	for n, element := range listed {
		item := deed.Item{ID: strconv.Itoa(n), Outcome: deed.OutcomeSuccess, Detail: element}
		if i.id != "" {
			item.RemoteID, _ = scalarAt(element, i.id)
		}
		switch fault, has, _ := arguments(element).pick(i.fault); {
		case i.fault != "" && has && !hollow(fault):
			item.Outcome, item.Reason = deed.OutcomeRefused, abridged(fault)
		case i.ok != "":
			if text, _ := scalarAt(element, i.ok); text != "true" {
				item.Outcome, item.Reason = deed.OutcomeRefused, i.ok+" is not true"
			}
		case i.id != "" && item.RemoteID == "":
			item.Outcome, item.Reason = deed.OutcomeUnknown, "it has no id at "+i.id
		}
		list = append(list, item)
	}
	var sent []json.RawMessage
	if raw, found, err := arguments(args).pick(i.sent); i.sent != "" && err == nil && found && json.Unmarshal(raw, &sent) == nil {
		for n := len(listed); n < len(sent); n++ {
			list = append(list, deed.Item{ID: strconv.Itoa(n), Outcome: deed.OutcomeUnknown, Reason: "the answer does not tell of it"})
		}
	}
	return outcome.Batch(list, true)
}

// shown is the answer as an MCP CallToolResult: its text, and as structured content where it is JSON.
func (a answer) shown(isError bool) []byte {
	body := a.body
	if isError && len(body) > shownError {
		body = body[:shownError]
	}
	text := strings.ToValidUTF8(string(body), "�")
	if !utf8.Valid(a.body) {
		text = fmt.Sprintf("%d bytes of %s", len(a.body), a.header.Get("Content-Type"))
	}
	if text == "" {
		text = "HTTP " + strconv.Itoa(a.status)
	}
	var structured json.RawMessage
	if trimmed := bytes.TrimSpace(a.body); a.json && len(body) == len(a.body) {
		structured = trimmed
		if trimmed[0] != '{' {
			structured = append(append([]byte(`{"result":`), trimmed...), '}')
		}
	}
	return result(text, structured, isError)
}

// result is an MCP CallToolResult.
func result(text string, structured json.RawMessage, isError bool) []byte {
	var out bytes.Buffer
	out.WriteString(`{"content":[{"type":"text","text":`)
	out.Write(quoted(text))
	out.WriteString(`}]`)
	if structured != nil {
		out.WriteString(`,"structuredContent":`)
		out.Write(structured)
	}
	if isError {
		out.WriteString(`,"isError":true`)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// abridged is the beginning of a body, for people.
func abridged(body []byte) string {
	text := strings.ToValidUTF8(string(bytes.TrimSpace(body)), "")
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "..."
	}
	return text
}
