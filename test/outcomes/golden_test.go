// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/matrix.golden")

// writing keeps tests that update the file apart.
var writing sync.Mutex

// agrees compares a table with the section of the golden file.
func agrees(t *testing.T, section, got string) {
	t.Helper()
	path := filepath.Join("testdata", "matrix.golden")
	writing.Lock()
	defer writing.Unlock()
	text, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), "== ")[1:] {
		name, table, _ := strings.Cut(part, "\n")
		sections[name] = strings.TrimSuffix(table, "\n")
	}
	if !*update {
		if diff := cmp.Diff(sections[section], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", section, diff)
		}
		return
	}
	sections[section] = got
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		out.WriteString("== " + name + "\n" + sections[name] + "\n")
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
