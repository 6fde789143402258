// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/policy"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestBadConfigurations runs the files of testdata/bad.txt: "=== what is wrong",
// the file, and after "---- refused" the exact text of the refusal.
func TestBadConfigurations(t *testing.T) {
	const golden, refused = "testdata/bad.txt", "---- refused\n"
	raw, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var rewritten strings.Builder
	cases := strings.Split("\n"+string(raw), "\n=== ")[1:]
	for _, text := range cases {
		name, text, _ := strings.Cut(text, "\n")
		file, want, _ := strings.Cut(text+"\n", refused)
		got := ""
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse("deed.yaml", []byte(file), nil)
			if err == nil {
				t.Fatalf("accepted:\n%s", file)
			}
			got = err.Error() + "\n"
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" && !*update {
				t.Errorf("refusal differs (-want +got):\n%s", diff)
			}
		})
		rewritten.WriteString("=== " + name + "\n" + file + refused + got)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(rewritten.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
