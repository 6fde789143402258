// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed/policy"
)

func TestWhatIsWrongWithAConditionIsSaidInWordsBeforeTheParsers(t *testing.T) {
	for source, want := range map[string]string{
		"args.amount >":         "it ends where more has to follow, at character 14 of the condition (Syntax error: mismatched input '<EOF>' expecting {",
		"(args.amount > 1":      "')' is missing at its end, at character 17 of the condition (Syntax error: missing ')' at '<EOF>')",
		"args.amount = 1":       "one = compares nothing; write ==, at character 13 of the condition (Syntax error: token recognition error at: '= ')",
		"args.amount > 1 1":     "'1' cannot stand here, at character 17 of the condition (Syntax error: extraneous input '1' expecting",
		"args.amount > ) 1":     "')' cannot stand here, at character 15 of the condition (Syntax error: ",
		"amount > 1":            "undeclared reference to 'amount' (at character 1 of the condition)",
		"args.amount > 1 # big": "'#' cannot stand here, at character 17 of the condition (Syntax error: token recognition error at: '#')",
	} {
		if _, err := policy.CompileCondition(source); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant\n%s", source, err, want)
		}
	}
}
