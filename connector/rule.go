// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// answer is a whole answer of the provider.
type answer struct {
	status int
	header http.Header
	body   []byte
	// json: the body is one JSON value.
	json bool
}

// rule says what a kind of answer proves. Every condition that is set must hold.
type rule struct {
	status []int
	at     string
	is     []string
	text   *regexp.Regexp
	// retryAfterNeeded: only answers that say when to come back, which a server that has begun to work does not send.
	retryAfterNeeded bool
	final            bool
	retryAfter       time.Duration
}

func (c rule) fits(a answer) bool {
	switch {
	case len(c.status) > 0 && !slices.Contains(c.status, a.status),
		c.retryAfterNeeded && outcome.RetryAfter(a.header) == 0,
		c.at != "" && !c.holds(a),
		c.at == "" && c.text != nil && !c.text.Match(a.body):
		return false
	}
	return true
}

// holds looks at one place of the body: its text is one of those named, fits the pattern, or is simply there.
func (c rule) holds(a answer) bool {
	if !a.json {
		return false
	}
	text, found := scalarAt(a.body, c.at)
	switch {
	case !found:
		return false
	case len(c.is) > 0 && !slices.Contains(c.is, text):
		return false
	}
	return c.text == nil || c.text.MatchString(text)
}

// scalarAt is the text, number or truth value at a pointer.
func scalarAt(doc []byte, pointer string) (string, bool) {
	raw, found, err := arguments(doc).pick(pointer)
	if err != nil || !found {
		return "", false
	}
	return plainText(raw)
}

// refusal is the outcome of an answer that the rule is about.
func (c rule) refusal(a answer) deed.Outcome {
	out := deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: c.final, Message: "HTTP " + strconv.Itoa(a.status)}
	if !c.final {
		out.RetryAfter = c.retryAfter
		if after := outcome.RetryAfter(a.header); after > 0 {
			out.RetryAfter = after
		}
	}
	return out
}

var ruleFields = []field[rule]{
	{"status", func(r *reader, at place, c *rule) { c.status = r.statuses(at) }},
	pointerField("at", func(c *rule) *string { return &c.at }),
	{"is", func(r *reader, at place, c *rule) {
		if list, ok := at.node.(*ast.SequenceNode); ok && len(list.Values) > 0 {
			for _, item := range r.items(at, "texts") {
				if text, ok := r.text(item); ok {
					c.is = append(c.is, text)
				}
			}
			return
		}
		if text, ok := r.text(at); ok {
			c.is = []string{text}
		}
	}},
	{"text", func(r *reader, at place, c *rule) { c.text = r.pattern(at) }},
	truthField("final", func(c *rule) *bool { return &c.final }),
	truthField("retry_after_needed", func(c *rule) *bool { return &c.retryAfterNeeded }),
	durationField("retry_after", func(c *rule) *time.Duration { return &c.retryAfter }),
}

func (r *reader) statuses(at place) []int {
	var list []int
	items := []place{at}
	if _, ok := at.node.(*ast.SequenceNode); ok {
		items = r.items(at, "statuses")
	}
	for _, item := range items {
		n, ok := r.number(item)
		switch {
		case !ok:
		case n < 100 || n > 599:
			r.refuse(item, strconv.Itoa(n)+" is no HTTP status", "write a number from 100 to 599")
		default:
			list = append(list, n)
		}
	}
	return list
}

// rules reads a list of rules that prove that nothing was done. set gives every one of them what the list itself means.
func (r *reader) rules(at place, set func(*rule)) []rule {
	var list []rule
	for _, item := range r.items(at, "rules") {
		var c rule
		before := len(r.found)
		block(r, item, ruleFields, &c)
		if len(r.found) > before {
			continue
		}
		if set != nil {
			set(&c)
		}
		bare := c.at == "" && c.text == nil
		switch {
		case len(c.status) == 0 && bare:
			r.refuse(item, "fits every answer", "write status:, at: or text:")
		case c.final && c.retryAfter > 0:
			r.refuse(item, "is final and has a retry_after", "remove one of the two")
		case len(c.is) > 0 && c.at == "":
			r.refuse(item, "has is: and no place to look at", "write at: and a pointer into the answer")
		case c.text != nil && c.text.MatchString(""):
			r.refuse(item, "has a pattern that fits every text", "write a text that only such answers hold")
		case bare && !c.retryAfterNeeded && slices.ContainsFunc(c.status, func(n int) bool { return n < 400 || n >= 500 }):
			r.refuse(item, "takes a status alone for a proof that nothing was done, and servers answer it also after they acted",
				"add at: or text:, or retry_after_needed: true where that header is only sent before anything is done")
		default:
			list = append(list, c)
		}
	}
	return list
}
