// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// runnable lists the commands that do something: no groups, topics or hidden
// ones.
func runnable(c *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, child := range c.Commands() {
		switch {
		case child.Hidden, child.Name() == "help", child.Name() == "completion":
		case child.Runnable() && !isGroup(child):
			list = append(list, child)
			fallthrough
		default:
			list = append(list, runnable(child)...)
		}
	}
	return list
}

func isGroup(c *cobra.Command) bool {
	return c.HasSubCommands() && !c.HasExample() && !c.HasLocalFlags()
}

func TestEveryCommandHasAnExampleOfItself(t *testing.T) {
	list := runnable((&app{}).root())
	if len(list) < 20 {
		t.Fatalf("only %d commands were found", len(list))
	}
	for _, c := range list {
		if !strings.Contains(c.Example, "  "+c.CommandPath()) {
			t.Errorf("%s: its example is %q", c.CommandPath(), c.Example)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its one line is %q", c.CommandPath(), c.Short)
		}
		for line := range strings.SplitSeq(c.Long, "\n") {
			if len(line) > 90 {
				t.Errorf("%s: a line of %d letters: %s", c.CommandPath(), len(line), line)
			}
		}
	}
}

// An MCP client may swallow "--", and a server's own flags must not be taken
// for deed's.
func TestTheCommandOfAServerNeedsNoDashes(t *testing.T) {
	for _, words := range [][]string{
		{"mcp", "--name", "files", "--", "npx", "-y", "server", "--config", "x", "--help"},
		{"mcp", "--name", "files", "npx", "-y", "server", "--config", "x", "--help"},
		{"mcp", "--name=files", "npx", "-y", "server", "--config", "x", "--help"},
	} {
		root := (&app{}).root()
		c, rest, err := root.Find(words)
		if err != nil || c.Name() != "mcp" {
			t.Fatalf("%v: %v %v", words, c.Name(), err)
		}
		if err := c.ParseFlags(rest); err != nil {
			t.Errorf("%v: %v", words, err)
		}
		if got := strings.Join(c.Flags().Args(), " "); got != "npx -y server --config x --help" {
			t.Errorf("%v: the command is %q", words, got)
		}
		if name, _ := c.Flags().GetString("name"); name != "files" {
			t.Errorf("%v: the name is %q", words, name)
		}
	}
}
