// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
)

// syntaxFaults say what the texts of CEL's parser mean. What it was given stands
// between quotes; <EOF> is the end of the expression.
var syntaxFaults = []struct {
	pattern *regexp.Regexp
	words   func(found []string) string
}{
	{regexp.MustCompile(`^Syntax error: missing (.+) at '<EOF>'$`), func(found []string) string { return found[0] + " is missing at its end" }},
	{regexp.MustCompile(`^Syntax error: missing (.+) at ('.*')$`), func(found []string) string { return found[0] + " is missing before " + found[1] }},
	{regexp.MustCompile(`^Syntax error: (?:mismatched input|no viable alternative at input|extraneous input) '[^']*<EOF>'`), func([]string) string {
		return "it ends where more has to follow"
	}},
	{regexp.MustCompile(`^Syntax error: token recognition error at: '=`), func([]string) string { return "one = compares nothing; write ==" }},
	{regexp.MustCompile(`^Syntax error: (?:mismatched input|no viable alternative at input|extraneous input|token recognition error at:) ('.*?')(?: expecting|$)`), func(found []string) string {
		return found[0] + " cannot stand here"
	}},
}

// compileFault is what CEL finds wrong first, and where; of is what is compiled. Of
// what its parser says, the meaning comes first and the text itself behind it.
func compileFault(issues *cel.Issues, of string) error {
	first := issues.Errors()[0]
	text := firstLine(first.Message)
	at := fmt.Sprintf("at character %d%s", first.Location.Column()+1, of)
	for _, fault := range syntaxFaults {
		if found := fault.pattern.FindStringSubmatch(text); found != nil {
			return fmt.Errorf("%s, %s (%s)", fault.words(found[1:]), at, strings.TrimSpace(text))
		}
	}
	return fmt.Errorf("%s (%s)", text, at)
}
