// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTallyCountsAndPrints(t *testing.T) {
	tests := []struct {
		name, events, printed, sum string
	}{
		{
			name: "a passing package shows only its closing line",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			printed: "ok  \tp\t0.1s\n",
			sum:     "1 passed, 0 failed\n",
		},
		{
			name: "a failing test shows its output and is counted once",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			printed: "    a_test.go:1: wrong\nFAIL\tp\t0.1s\n",
			sum:     "failed: p.TestA\n0 passed, 1 failed, 1 skipped\n",
		},
		{
			name: "a package that does not build is a failure",
			events: `{"ImportPath":"p","Action":"build-output","Output":"p.go:1: undefined: x\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`,
			printed: "p.go:1: undefined: x\nFAIL\tp [build failed]\n",
			sum:     "failed: p\n0 passed, 1 failed\n",
		},
		{
			name: "a package of which no test was chosen is a failure",
			events: `{"Action":"output","Package":"p","Output":"testing: warning: no tests to run\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s [no tests to run]\n"}
{"Action":"pass","Package":"p"}
`,
			printed: "testing: warning: no tests to run\nok  \tp\t0.1s [no tests to run]\n",
			sum:     "failed: p: no test ran\n0 passed, 1 failed\n",
		},
		{
			name: "a test that never ended shows what it printed",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"fail","Package":"p"}
`,
			printed: "p.TestA never ended:\n=== RUN   TestA\n",
			sum:     "failed: p\n0 passed, 1 failed\n",
		},
		{
			name:    "what is no event is printed as it is",
			events:  "go: cannot find main module\n",
			printed: "go: cannot find main module\n",
			sum:     "0 passed, 0 failed\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var tally Tally
			var printed, sum strings.Builder
			if err := tally.Read(strings.NewReader(test.events), &printed); err != nil {
				t.Fatal(err)
			}
			tally.Print(&sum)
			if diff := cmp.Diff(test.printed, printed.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.sum, sum.String()); diff != "" {
				t.Errorf("summed up (-want +got):\n%s", diff)
			}
		})
	}
}
