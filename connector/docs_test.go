// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"os"
	"strings"
	"testing"

	"github.com/deed-run/deed/connector"
)

// Descriptions that the pages show are accepted as they stand.
func TestDescriptionsInThePagesAreAccepted(t *testing.T) {
	seen := 0
	for _, page := range []string{"../docs/connectors.md", "../docs/providers.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
			source, _, _ := strings.Cut(block, "```")
			seen++
			if _, err := connector.Load([]byte(source), page, 1, func(string) (string, bool) { return "value", true }); err != nil {
				t.Error(err)
			}
		}
	}
	if seen < 2 {
		t.Errorf("%d descriptions were found", seen)
	}
}
