// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARuleIsInsertedAndEveryOtherByteStays(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"no tools at all", "# mine\nlisten: x\n", "# mine\ntools: {a/b: {failed: [{text: \"^no\"}]}}\nlisten: x\n"},
		{"a tool without an entry", "tools:\n  c/d:\n    effect: read_only\n", "tools:\n  a/b: {failed: [{text: \"^no\"}]}\n  c/d:\n    effect: read_only\n"},
		{"an entry in block style", "tools:\n  a/b: # first\n    effect: x # e\n", "tools:\n  a/b: # first\n    failed: [{text: \"^no\"}]\n    effect: x # e\n"},
		{"an entry in flow style", "tools:\n  a/b: {effect: x}\n", "tools:\n  a/b: {failed: [{text: \"^no\"}], effect: x}\n"},
		{"an empty entry", "tools:\n  a/b: {}\n", "tools:\n  a/b: {failed: [{text: \"^no\"}]}\n"},
		{"rules in flow style", "tools:\n  a/b: {failed: [{text: é}]}\n", "tools:\n  a/b: {failed: [{text: é}, {text: \"^no\"}]}\n"},
		{"rules in block style at the end of the file", "tools:\n  a/b:\n    failed:\n    - text: x\n      final: true", "tools:\n  a/b:\n    failed:\n    - text: x\n      final: true\n    - {text: \"^no\"}"},
		{"a file with Windows line ends", "tools:\r\n  a/b:\r\n    effect: x\r\n", "tools:\r\n  a/b:\r\n    failed: [{text: \"^no\"}]\r\n    effect: x\r\n"},
		{"JSON", `{"tools":{"a/b":{"effect":"x"}}}`, `{"tools":{"a/b":{"failed": [{"text": "^no"}], "effect":"x"}}}`},
		{"JSON without tools", `{"listen":"x"}`, `{"tools": {"a/b": {"failed": [{"text": "^no"}]}}, "listen":"x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := insertFailedRule([]byte(c.before), "a/b", "^no", false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, doc := range []string{"tools: x", "- a", "tools:\n  a/b: {failed: x}\n", "tools:\n  a/b:\n", ":"} {
		if got, err := insertFailedRule([]byte(doc), "a/b", "^no", false); err == nil {
			t.Errorf("%q became %q", doc, got)
		}
	}
}
