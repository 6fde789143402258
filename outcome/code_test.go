// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"regexp"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

func TestFailedRulesOfErrorCodes(t *testing.T) {
	code := func(n int) *int { return &n }
	text := regexp.MustCompile("^quota")
	for _, test := range []struct {
		name string
		rule outcome.Failed
		err  string
		want deed.OutcomeKind
	}{
		{"a code alone", outcome.Failed{Code: code(-32050)}, `{"code":-32050,"message":"anything"}`, deed.OutcomeRefused},
		{"another code", outcome.Failed{Code: code(-32050)}, `{"code":-32051,"message":"anything"}`, deed.OutcomeUnknown},
		{"code and text", outcome.Failed{Code: code(-32050), Text: text}, `{"code":-32050,"message":"quota used up"}`, deed.OutcomeRefused},
		{"the code without the text", outcome.Failed{Code: code(-32050), Text: text}, `{"code":-32050,"message":"timeout"}`, deed.OutcomeUnknown},
		{"the text without the code", outcome.Failed{Code: code(-32050), Text: text}, `{"code":-32051,"message":"quota used up"}`, deed.OutcomeUnknown},
		{"a rule that names neither", outcome.Failed{}, `{"code":-32050,"message":"quota used up"}`, deed.OutcomeUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := outcome.MCP(outcome.MCPAnswer{Error: []byte(test.err)}, outcome.Rules{Failed: []outcome.Failed{test.rule}})
			if got.Kind != test.want {
				t.Errorf("got %s, want %s", got.Kind, test.want)
			}
		})
	}
}
