// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/outcome"
)

// Most answers are recognised at first sight. A rule that looks into successes,
// and that nothing matches, makes every answer pass the closer look instead.
func TestTheFirstSightAgreesWithTheCloserLook(t *testing.T) {
	closer := outcome.Rules{Failed: []outcome.Failed{{Text: regexp.MustCompile("no text is like this"), AnyResult: true}}}
	for _, result := range []string{
		`{"content":[{"type":"text","text":"charged"}]}`,
		`{"content":[{"type":"text","text":"charged"}],"isError":false}`,
		`{"content":[{"type":"text","text":"not found"}],"isError":true}`,
		`{"content":[{"type":"text","text":"odd"}],"isError":"true"}`,
		`{"content":[],"isError":null}`,
		`{"content":[],"IsError":true}`,
		`{"content":[],"isError":false,"isError":true}`,
		` { "content" : [ ] , "isError" : true } `,
		`{"resultType":"complete","content":[]}`,
		`{"resultType":"complete","content":[],"isError":true}`,
		`{"resultType":"input_required","requestState":"s<1>","inputRequests":{}}`,
		`{"resultType":"input_required"}`,
		`{"resultType":"task","taskId":"t1"}`,
		`{"task":{"taskId":"t1"}}`,
		`{"task":{"taskId":"t1"},"content":[]}`,
		`{"task":"none","content":[]}`,
		`{"taskId":"t1","content":[]}`,
		`{"resultType":7,"content":[]}`,
		`{"structuredContent":{"n":1e999,"isError":true}}`,
		`{}`, `null`, `[]`, `"text"`, ``, `{"content":`,
	} {
		first := outcome.MCP(outcome.MCPAnswer{Result: []byte(result)}, outcome.Rules{})
		looked := outcome.MCP(outcome.MCPAnswer{Result: []byte(result)}, closer)
		if diff := cmp.Diff(looked, first); diff != "" {
			t.Errorf("%s (-closer look +first sight):\n%s", result, diff)
		}
	}
}
