// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/connector"
)

// TestBadDescriptions runs the cases of testdata/bad.txt: "=== what is wrong", the description, and after "---- refused" the exact text. The
// descriptions begin in line 10 of deed.yaml.
func TestBadDescriptions(t *testing.T) {
	const path, refused = "testdata/bad.txt", "---- refused\n"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rewritten strings.Builder
	for _, text := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
		name, text, _ := strings.Cut(text, "\n")
		source, want, _ := strings.Cut(text+"\n", refused)
		got := ""
		t.Run(name, func(t *testing.T) {
			_, err := connector.Load([]byte(source), "deed.yaml", 10, environment)
			var problems *connector.Error
			if !errors.As(err, &problems) {
				t.Fatalf("accepted, or refused otherwise (%v):\n%s", err, source)
			}
			got = err.Error() + "\n"
			if strings.Contains(got, "s3cret") {
				t.Error("a secret stands in a problem")
			}
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" && !*update {
				t.Errorf("refusal differs (-want +got):\n%s", diff)
			}
		})
		rewritten.WriteString("=== " + name + "\n" + source + refused + got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(rewritten.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
