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

func TestRulesAboutStatuses(t *testing.T) {
	busy := outcome.Failed{Status: 503, RetryAfterRequired: true, RetryAfter: time.Minute}
	header := http.Header{"Retry-After": {"7"}}
	after := func(o deed.Outcome, d time.Duration) deed.Outcome { o.RetryAfter = d; return o }
	again := deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused}
	unknown := deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown}
	for _, c := range []struct {
		name   string
		rule   outcome.Failed
		answer outcome.HTTPAnswer
		want   deed.Outcome
	}{
		{"without a rule a 503 may have happened", outcome.Failed{}, outcome.HTTPAnswer{Status: 503, Header: header}, unknown},
		{"a declared 503 with Retry-After is refused for a while", busy, outcome.HTTPAnswer{Status: 503, Header: header}, after(again, 7*time.Second)},
		{"the same without Retry-After may have happened", busy, outcome.HTTPAnswer{Status: 503}, unknown},
		{"a Retry-After that is no number of seconds does not count", busy, outcome.HTTPAnswer{Status: 503, Header: http.Header{"Retry-After": {"soon"}}}, unknown},
		{"another status is not meant", busy, outcome.HTTPAnswer{Status: 502, Header: header}, unknown},
		{"a rule's own pause holds without the header", outcome.Failed{Status: 503, RetryAfter: time.Minute}, outcome.HTTPAnswer{Status: 503}, after(again, time.Minute)},
		{"a text is sought in the body", outcome.Failed{Status: 500, Text: regexp.MustCompile("^maintenance")}, outcome.HTTPAnswer{Status: 500, Body: []byte("maintenance")}, again},
		{"another body is not meant", outcome.Failed{Status: 500, Text: regexp.MustCompile("^maintenance")}, outcome.HTTPAnswer{Status: 500, Body: []byte("oops")}, unknown},
		{"a rule about texts alone says nothing of a bare status", outcome.Failed{Text: regexp.MustCompile("oops")}, outcome.HTTPAnswer{Status: 500, Body: []byte("oops")}, unknown},
		{"a 429 says itself when to come back", outcome.Failed{}, outcome.HTTPAnswer{Status: 429, Header: header}, after(again, 7*time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := outcome.Rules{Failed: []outcome.Failed{c.rule}}.HTTP(c.answer)
			got.Message = ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRulesAboutStatusesOfErrors(t *testing.T) {
	rules := outcome.Rules{Failed: []outcome.Failed{{Status: 503, RetryAfterRequired: true}}}
	answer := outcome.MCPAnswer{Error: []byte(`{"code":-32000,"message":"busy"}`), Status: 503, Header: http.Header{"Retry-After": {"3"}}}
	want := deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, RetryAfter: 3 * time.Second, Message: "busy"}
	if diff := cmp.Diff(want, outcome.MCP(answer, rules)); diff != "" {
		t.Error(diff)
	}
	answer.Status, answer.Header = 0, nil
	if got := outcome.MCP(answer, rules); got.Kind != deed.OutcomeUnknown {
		t.Errorf("without a status: %+v", got)
	}
	limited := outcome.MCPAnswer{Error: []byte(`{"code":-32000,"message":"slow down"}`), Status: 429, Header: http.Header{"Retry-After": {"9"}}}
	if got := outcome.MCP(limited, outcome.Rules{}); got.RetryAfter != 9*time.Second || got.Final {
		t.Errorf("a 429: %+v", got)
	}
}
