// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func TestAFileThatIsNotThere(t *testing.T) {
	_, err := policy.Load(filepath.Join(t.TempDir(), "deed.yaml"), nil)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "nothing started") {
		t.Errorf("got %v", err)
	}
}

func TestAtMostTwentyProblemsAreTold(t *testing.T) {
	_, err := policy.Parse("f", []byte("defaults:\n"+strings.Repeat("  timeout: 1m\n", 31)), nil)
	var problems *policy.Error
	if !errors.As(err, &problems) || len(problems.Problems) != 20 || problems.More != 10 {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(err.Error(), "\nand 10 more") {
		t.Errorf("the end is %q", err.Error()[len(err.Error())-40:])
	}
	for i, p := range problems.Problems {
		if p.Line != i+3 {
			t.Errorf("problem %d is in line %d", i, p.Line)
		}
	}
}

func TestBytesThatAreNoConfiguration(t *testing.T) {
	for name, data := range map[string]string{
		"not UTF-8":         "tenant: \xff",
		"a control byte":    "tenant: a\x00b",
		"bottomless":        strings.Repeat("[", 100000),
		"bottomless keys":   strings.Repeat("{a: ", 100000),
		"bottomless lists":  strings.Repeat("- ", 100000),
		"bottomless sets":   strings.Repeat("? ", 100000),
		"more than one MiB": "# " + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse("f", []byte(data), nil)
			var problems *policy.Error
			if !errors.As(err, &problems) || problems.Problems[0].Line != 1 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnEmptyFileIsTheDefaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n"} {
		config := parse(t, text)
		if config.Tenant != "default" || config.Actor != "local" || config.Listen != "127.0.0.1:7391" || config.Ledger != (policy.Ledger{}) {
			t.Errorf("%q means %+v", text, config)
		}
	}
}

func TestAFileOfAWindowsEditor(t *testing.T) {
	config := parse(t, "\ufefftenant: acme\r\nupstreams:\r\n  a:\r\n    command: [x]\r\n")
	if config.Tenant != "acme" || config.Upstreams["a"].Command[0].Text != "x" {
		t.Errorf("read as %+v", config)
	}
	_, err := policy.Parse("f", []byte("tenant: acme\r\nlisten: nowhere\r\n"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "f:2:9: ") {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatIsCutAnywhere(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "plain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		_, err := policy.Parse("f", data[:i], environment)
		var problems *policy.Error
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

// FuzzParse: whatever is in a file, reading it ends with a configuration or
// with problems that have a place, and an accepted file can be used.
func FuzzParse(f *testing.F) {
	plain, errPlain := os.ReadFile(filepath.Join("testdata", "plain.yaml"))
	bad, errBad := os.ReadFile(filepath.Join("testdata", "bad.txt"))
	if err := errors.Join(errPlain, errBad); err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	for _, text := range strings.Split(string(bad), "\n=== ") {
		_, text, _ := strings.Cut(text, "\n")
		text, _, _ = strings.Cut(text, "---- refused\n")
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := policy.Parse("f", data, environment)
		if err != nil {
			var problems *policy.Error
			if !errors.As(err, &problems) {
				t.Fatalf("an error without a place: %v", err)
			}
			for _, p := range problems.Problems {
				if p.Line < 1 || p.Column < 0 || p.Wrong == "" {
					t.Errorf("problem without a place: %+v", p)
				}
			}
			return
		}
		tools := []policy.ListedTool{{Tool: "a/b"}}
		for tool := range config.Tools {
			tools = append(tools, policy.ListedTool{Tool: tool})
			// A refusal is an answer as well.
			_, _ = policy.Explain(config, tool, []byte(`{"a":1}`))
			if rule := config.Policy().Rule(tool, deed.ToolFacts{}); rule.Revision == "" || rule.Why == "" || rule.Lease <= 0 || rule.Timeout <= 0 {
				t.Errorf("incomplete rule: %+v", rule)
			}
		}
		policy.Advise(config, tools)
	})
}
