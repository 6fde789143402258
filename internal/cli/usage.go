// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// misuse says in deed's own words what the parser of the command line refused.
// What it does not know it passes on: a new version of the parser may say more.
func misuse(c *cobra.Command, err error) string {
	if text := flagMisuse(c, err); text != "" {
		return text
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	for _, m := range misuses {
		if found := m.pattern.FindStringSubmatch(text); found != nil {
			return m.words(c, found[1:])
		}
	}
	return lowerFirst(text)
}

// misuses are the texts of cobra, which has no types for them.
var misuses = []struct {
	pattern *regexp.Regexp
	words   func(c *cobra.Command, found []string) string
}{
	{regexp.MustCompile(`^unknown command ("(?:[^"\\]|\\.)*") for "(.*)"$`), func(c *cobra.Command, found []string) string {
		// deed help is asked about another command than itself.
		if named, _, err := c.Root().Find(strings.Fields(found[1])[1:]); err == nil {
			c = named
		}
		if c.HasParent() && !c.HasSubCommands() {
			return fmt.Sprintf("%s takes no more words, and %s follows", c.CommandPath(), found[0])
		}
		return fmt.Sprintf("%s has no command %s", c.CommandPath(), found[0]) + meantCommand(c, strings.Trim(found[0], `"`))
	}},
	{regexp.MustCompile(`^required flag\(s\) (.*) not set$`), func(c *cobra.Command, found []string) string {
		flags := dashed(strings.Split(strings.ReplaceAll(found[0], `"`, ""), ", "))
		verb := " is missing"
		if len(flags) > 1 {
			verb = " are missing"
		}
		return strings.Join(flags, " and ") + verb
	}},
	{regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required$`), func(_ *cobra.Command, found []string) string {
		return "say one of " + strings.Join(dashed(strings.Fields(found[0])), ", ")
	}},
	{regexp.MustCompile(`^if any flags in the group \[(.*)\] are set none of the others can be; \[(.*)\] were all set$`), func(_ *cobra.Command, found []string) string {
		return strings.Join(dashed(strings.Fields(found[1])), " and ") + " exclude each other: say one of " + strings.Join(dashed(strings.Fields(found[0])), ", ")
	}},
	{regexp.MustCompile(`^if any flags in the group \[(.*)\] are set they must all be set; missing \[(.*)\]$`), func(_ *cobra.Command, found []string) string {
		return strings.Join(dashed(strings.Fields(found[0])), ", ") + " go together, and " + strings.Join(dashed(strings.Fields(found[1])), ", ") + " is missing"
	}},
	{regexp.MustCompile(`^(?:accepts|requires) .*arg\(s\),(?: only)? received (\d+)$`), func(c *cobra.Command, found []string) string {
		use := strings.TrimSuffix(c.UseLine(), " [flags]")
		var given int
		_, _ = fmt.Sscan(found[0], &given)
		wanted := positional(c)
		if given < len(wanted) {
			return fmt.Sprintf("%s is missing: write %s", strings.Join(wanted[given:], " and "), use)
		}
		return fmt.Sprintf("more words than the command takes: write %s", use)
	}},
}

// flagMisuse words what is wrong with a flag, "" when it is none of that.
func flagMisuse(c *cobra.Command, err error) string {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := e.GetSpecifiedName()
		if e.GetSpecifiedShortnames() != "" {
			return c.CommandPath() + " has no flag -" + name
		}
		return c.CommandPath() + " has no flag --" + name + meant(nearFlags(c, name))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return "--" + e.GetFlag().Name + " needs a value"
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Sprintf("--%s %q is not %s", e.GetFlag().Name, e.GetValue(), kindOf(e.GetFlag()))
	}
	if e, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return fmt.Sprintf("%s is no flag", e.GetSpecifiedFlag())
	}
	return ""
}

// kindOf says what a flag's value must be.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int", "int64", "uint64":
		return "a whole number"
	case "duration":
		return "a duration such as 30s, 10m or 24h"
	}
	return "a value for it"
}

// positional lists the words that a command wants, as its use names them.
func positional(c *cobra.Command) []string {
	var list []string
	for _, word := range strings.Fields(c.Use)[1:] {
		if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "[") || strings.HasPrefix(word, "(") {
			break
		}
		list = append(list, word)
	}
	return list
}

func dashed(names []string) []string {
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, "--"+name)
	}
	return list
}

func meant(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(names, " or ") + "?)"
}

// fewCommands is how many commands are listed to whoever names none of them.
const fewCommands = 3

func meantCommand(c *cobra.Command, word string) string {
	if names := nearCommands(c, word); len(names) > 0 {
		return meant(names)
	}
	var names []string
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() && child.Name() != "help" {
			names = append(names, child.Name())
		}
	}
	if len(names) == 0 || len(names) > fewCommands {
		return ""
	}
	return ": it has " + strings.Join(names, ", ")
}

func nearCommands(c *cobra.Command, word string) []string {
	var names []string
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() && near(word, child.Name()) {
			names = append(names, child.Name())
		}
	}
	return names
}

func nearFlags(c *cobra.Command, word string) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && near(word, f.Name) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// near says whether a word was likely meant to be the name: at most two letters
// are other ones, missing or too many, or the name goes on from the word.
func near(word, name string) bool {
	if len(word) > 1 && strings.HasPrefix(name, word) {
		return true
	}
	return len(word) <= 64 && distance(word, name) <= min(2, len(name)/3)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		last := slices.Clone(row)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, last[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
