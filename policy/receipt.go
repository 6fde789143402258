// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Receipt says where a success names the thing that it made. The pointers go
// into the whole result.
type Receipt struct {
	System string
	ID     string
	URL    string
	// Require makes a success without the id an unknown outcome.
	Require bool
}

// FailedRule says that an answer that fits was a definite refusal. What is set
// of Text, Code and Status must fit together.
type FailedRule struct {
	// Text is nil when only the code counts.
	Text *regexp.Regexp
	// Code is a JSON-RPC error code, nil when it does not count.
	Code *int
	// Status is the HTTP status of the answer, 0 when it does not count.
	Status int
	// RetryAfterRequired: only answers with a Retry-After in seconds fit.
	RetryAfterRequired bool
	// Final: the same call will be refused again.
	Final bool
	// AnyResult extends the rule to results that are not marked as errors.
	AnyResult bool
	// RetryAfter is when a refusal that is not final may be tried again.
	RetryAfter time.Duration
}

func receiptKeys() []key[Receipt] {
	pointer := func(field func(*Receipt) *string) func(*decoder, place, *Receipt) {
		return func(d *decoder, at place, into *Receipt) {
			if text, ok := d.pointer(at); ok {
				*field(into) = text
			}
		}
	}
	return []key[Receipt]{
		{name: "system", read: func(d *decoder, at place, into *Receipt) {
			if text, ok := d.text(at); ok {
				into.System = text
			}
		}},
		{name: "id", read: pointer(func(r *Receipt) *string { return &r.ID })},
		{name: "url", read: pointer(func(r *Receipt) *string { return &r.URL })},
		{name: "require", initial: "false", read: func(d *decoder, at place, into *Receipt) { d.truth(at, &into.Require) }},
	}
}

func (d *decoder) receipt(at place, into *Receipt) {
	before := len(d.found)
	block(d, at, receiptKeys(), into)
	if len(d.found) == before && into.Require && into.ID == "" {
		d.refuse(d.inside(at, "require"), "requires an id and names none", "write id: and the pointer to it, such as /structuredContent/id")
	}
}

// failedReader is a rule while it is read.
type failedReader struct {
	FailedRule
	on       string
	statuses []int
}

func failedKeys() []key[failedReader] {
	return []key[failedReader]{
		{name: "text", read: func(d *decoder, at place, into *failedReader) { d.pattern(at, &into.Text) }},
		{name: "code", read: func(d *decoder, at place, into *failedReader) { d.code(at, &into.Code) }},
		{name: "status", read: func(d *decoder, at place, into *failedReader) {
			if _, list := at.node.(*ast.SequenceNode); list {
				into.statuses = d.statuses(at)
				return
			}
			if status, ok := d.status(at); ok {
				into.statuses = []int{status}
			}
		}},
		{name: "retry_after_required", initial: "false", read: func(d *decoder, at place, into *failedReader) { d.truth(at, &into.RetryAfterRequired) }},
		{name: "final", initial: "false", read: func(d *decoder, at place, into *failedReader) { d.truth(at, &into.Final) }},
		{name: "on", initial: "error", read: func(d *decoder, at place, into *failedReader) {
			word(d, at, &into.on, "error", "any")
			into.AnyResult = into.on == "any"
		}},
		{name: "retry_after", read: func(d *decoder, at place, into *failedReader) { d.duration(at, &into.RetryAfter) }},
	}
}

func (d *decoder) failedRules(at place) []FailedRule {
	var rules []FailedRule
	for _, item := range d.items(at, "rules") {
		before := len(d.found)
		var rule failedReader
		block(d, item, failedKeys(), &rule)
		if len(d.found) > before {
			continue
		}
		switch {
		case rule.Text == nil && rule.Code == nil && rule.statuses == nil:
			d.refuse(item, "has neither text nor code nor status, and would fit every answer", "write text: and a regular expression, or status: and a list of HTTP status codes")
		case rule.AnyResult && rule.Code != nil:
			d.refuse(item, "has a code, which results that are no errors never carry", "remove code, or write on: error")
		case rule.AnyResult && rule.statuses != nil:
			d.refuse(item, "has a status, which results that are no errors never carry", "remove status, or write on: error")
		case rule.AnyResult && rule.Text.MatchString(""):
			d.refuse(item, "fits every result, so that nothing could ever be committed", "write a text that only refusals hold")
		case rule.Final && rule.RetryAfter > 0:
			d.refuse(item, "is final and has a retry_after", "remove one of the two")
		case rule.Final && rule.RetryAfterRequired:
			d.refuse(item, "is final and requires a Retry-After, which asks for a repeat", "remove one of the two")
		case rule.RetryAfterRequired && rule.statuses == nil:
			d.refuse(item, "requires a Retry-After and names no status that carries one", "write status: [503] beside it")
		}
		rules = append(rules, rule.FailedRule)
		for i, status := range rule.statuses {
			one := rule.FailedRule
			one.Status = status
			if i == 0 {
				rules[len(rules)-1] = one
				continue
			}
			rules = append(rules, one)
		}
	}
	return rules
}

func (d *decoder) pattern(at place, into **regexp.Regexp) {
	text, ok := d.text(at)
	if !ok {
		return
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		d.refuse(at, "does not compile: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "write a regular expression of RE2; in quotes a backslash is doubled, in single quotes not")
		return
	}
	*into = compiled
}

func (d *decoder) code(at place, into **int) {
	n, ok := at.node.(*ast.IntegerNode)
	if !ok {
		d.wrongType(at, "a JSON-RPC error code", "write a whole number such as -32000")
		return
	}
	var code int
	switch v := n.Value.(type) {
	case int64:
		code = int(v)
	case uint64:
		code = int(v)
	}
	*into = &code
}
