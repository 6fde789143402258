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
// reader knows: keys, defaults, and which keys are for later.
func TestTheReferenceListsEveryKey(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	stated := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:`([^`]*)` )?\\| (.*)$")
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		path, standard, text := m[1], m[2], m[3]
		if _, twice := stated[path]; twice {
			t.Errorf("%s is listed twice", path)
		}
		if strings.HasPrefix(text, "*later*") {
			standard = "later"
		}
		stated[path] = standard
	}
	known := map[string]string{}
	for _, key := range policy.Keys() {
		known[key.Path] = key.Default
		if key.Later {
			known[key.Path] = "later"
		}
	}
	if diff := cmp.Diff(known, stated); diff != "" {
		t.Errorf("docs/configuration.md differs from the reader (-reader +document):\n%s", diff)
	}
}

// TestTheReferenceShowsAFileThatIsAccepted parses the example of the document.
func TestTheReferenceShowsAFileThatIsAccepted(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(doc), "```yaml\n")
	example, _, found := strings.Cut(example, "```")
	if !found {
		t.Fatal("the document has no example")
	}
	parse(t, example)
}
