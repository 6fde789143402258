// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
)

// recurring is one text that a tool answered errors with, and how often.
type recurring struct {
	Tool deed.Tool `json:"tool"`
	// Text is the first line of what was answered, with what varies as "*".
	Text   string      `json:"text"`
	Status deed.Status `json:"status"`
	Reason deed.Reason `json:"reason"`
	Count  int         `json:"count"`
	// Newest are the newest operations that met it.
	Newest []deed.OperationID `json:"newest"`
}

// errorsAtMost bounds how many operations deed tools errors looks at, and
// examplesShown how many it names for one text.
const (
	errorsAtMost  = 50_000
	examplesShown = 3
)

func (a *app) toolsErrorsCommand() *cobra.Command {
	at := place{reads: true}
	var tool string
	c := &cobra.Command{
		Use: "errors", Short: "Show the texts that tools answer errors with, how often, and the newest examples", Args: cobra.NoArgs,
		Long: `Counts the texts of calls that failed, and of those that are uncertain because the
tool answered an error (tool_error). Numbers, ids and quoted words of a text are "*",
so that equal errors come together. A text that always means that nothing happened
can be taught: deed tools teach.`,
		Example: "  deed tools errors\n  deed tools errors --tool tickets/create_ticket --config deed.yaml",
		RunE: action(func(ctx context.Context, _ []string) (err error) {
			d, err := a.desk(ctx, at)
			if err != nil {
				return err
			}
			defer leave(d, &err)
			list, partial, err := gatherErrors(ctx, d, deed.Tool(tool))
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"errors": append([]recurring{}, list...), "partial": partial})
			}
			if len(list) == 0 {
				return a.print(at.none("error answers of "+toolOrAny(tool), d.Where())...)
			}
			return a.print(errorLines(list, partial, at)...)
		}),
	}
	at.operatorFlags(c)
	c.Flags().StringVar(&tool, "tool", "", "only this `upstream/tool`")
	return c
}

func toolOrAny(tool string) string {
	if tool == "" {
		return "tools"
	}
	return tool
}

// gatherErrors groups what tools answered; partial: there are more operations
// than were looked at.
func gatherErrors(ctx context.Context, d desk, tool deed.Tool) (list []recurring, partial bool, err error) {
	places := map[[3]string]int{}
	looked := 0
	for _, query := range []deed.Query{
		{Statuses: []deed.Status{deed.StatusUncertain}, Reason: deed.ReasonToolError, Tool: tool, Limit: 1000},
		{Statuses: []deed.Status{deed.StatusFailed}, Tool: tool, Limit: 1000},
	} {
		for {
			page, err := d.List(ctx, query)
			if err != nil {
				return nil, false, err
			}
			for _, op := range page.Operations {
				if looked++; op.Message == "" || op.DecidedBy != "" {
					continue // nobody answered, or a person or look-up said so
				}
				text := commonText(op.Message)
				name := [3]string{string(op.Tool), text, string(op.Reason)}
				i, known := places[name]
				if !known {
					i = len(list)
					places[name] = i
					list = append(list, recurring{Tool: op.Tool, Text: text, Status: op.Status, Reason: op.Reason})
				}
				if list[i].Count++; len(list[i].Newest) < examplesShown {
					list[i].Newest = append(list[i].Newest, op.ID)
				}
			}
			if query.Before = page.Next; query.Before == "" {
				break
			}
			if looked >= errorsAtMost {
				partial = true
				break
			}
		}
	}
	slices.SortStableFunc(list, func(a, b recurring) int {
		if a.Tool != b.Tool {
			return strings.Compare(string(a.Tool), string(b.Tool))
		}
		return b.Count - a.Count
	})
	return list, partial, nil
}

// varying finds what differs from one error to the next: quoted words, ids and
// numbers.
var varying = regexp.MustCompile(`"[^"]*"|'[^']*'|[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}|\b[A-Za-z]*[0-9][0-9A-Za-z]*\b`)

// commonText is the first line of a text with what varies as "*".
func commonText(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	text = varying.ReplaceAllString(plain(text), "*")
	if letters := []rune(text); len(letters) > 200 {
		text = string(letters[:200]) + "..."
	}
	return text
}

func errorLines(list []recurring, partial bool, at place) []string {
	rows := [][]string{{"TOOL", "COUNT", "STATUS", "NEWEST", "TEXT"}}
	for _, r := range list {
		rows = append(rows, []string{string(r.Tool), fmt.Sprint(r.Count), string(r.Status) + " (" + string(r.Reason) + ")", string(r.Newest[0]), r.Text})
	}
	lines := table(rows)
	if partial {
		lines = append(lines, "", fmt.Sprintf("only the newest %d operations were looked at", errorsAtMost))
	}
	for _, r := range list {
		if r.Reason != deed.ReasonToolError {
			continue
		}
		known, _, _ := strings.Cut(r.Text, "*")
		pattern := "^" + regexp.QuoteMeta(strings.TrimSuffix(known, "..."))
		if len(known) < 4 {
			pattern = "REGEXP"
		}
		where := at
		if where.config == "" {
			where.config = "FILE"
		}
		where.server = ""
		return append(lines, "", "next: where a text always means that nothing was changed, say so once; this shows what it would do:",
			"  "+where.command("tools teach", shellWord(string(r.Tool)), "--text", shellWord(pattern), "--dry-run"))
	}
	return lines
}
