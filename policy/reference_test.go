// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/policy"
)

// TestTheReferenceListsEveryKey compares docs/configuration.md with what the
// reader knows: keys and defaults.
func TestTheReferenceListsEveryKey(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	stated := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:`([^`]*)` )?\\| (.*)$")
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		path, standard := m[1], m[2]
		if _, twice := stated[path]; twice {
			t.Errorf("%s is listed twice", path)
		}
		stated[path] = standard
	}
	known := map[string]string{}
	for _, key := range policy.Keys() {
		known[key.Path] = key.Default
	}
	if diff := cmp.Diff(known, stated); diff != "" {
		t.Errorf("docs/configuration.md differs from the reader (-reader +document):\n%s", diff)
	}
}

// TestTheReferenceShowsFilesThatAreAccepted parses the examples of the document.
func TestTheReferenceShowsFilesThatAreAccepted(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(doc), "```yaml\n")[1:]
	if len(examples) < 3 {
		t.Fatalf("the document has %d examples", len(examples))
	}
	for _, example := range examples {
		example, _, _ := strings.Cut(example, "```")
		if !strings.Contains(example, "upstreams:") {
			example = "upstreams: {tickets: {command: [x]}}\n" + example
		}
		if _, err := policy.Parse("deed.yaml", []byte(example), func(string) string { return "value" }); err != nil {
			t.Errorf("%v\n%s", err, example)
		}
	}
}
