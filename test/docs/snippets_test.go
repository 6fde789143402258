// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/deed-run/deed/policy"
)

// Programs that pages show are part of a file that is compiled and run.
func TestProgramsInThePagesAreCompiled(t *testing.T) {
	compiled := ""
	for _, file := range []string{"library_test.go", "../../faultkit/example_test.go", "../../example_test.go", "prove_test.go", "../../telemetry/example_test.go", "../dotx/example_test.go", "../../temporal/example_test.go", "../../policy/example_test.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compiled += string(data)
	}
	for _, d := range documents(t) {
		for _, b := range d.blocks("go") {
			if !strings.Contains(compiled, b.text) {
				t.Errorf("%s shows a program that no compiled file contains:\n%s", b.document, b.text)
			}
		}
	}
}

// Configurations that pages show are accepted as they stand.
func TestConfigurationsInThePagesAreAccepted(t *testing.T) {
	seen := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks("yaml") {
			if !strings.Contains(b.text, "upstreams:") {
				continue
			}
			seen++
			if _, err := policy.Parse(d.path, []byte(b.text), func(string) string { return "value" }); err != nil {
				t.Errorf("%s: %v", d.path, err)
			}
		}
	}
	if seen == 0 {
		t.Error("no configuration was found in any page")
	}
}
