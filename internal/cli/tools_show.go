// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// toolStanding is what deed tools says of one tool.
type toolStanding struct {
	policy.Advice
	// Guarantee takes the place of the advice's, in the words that the gateway
	// has for it too.
	Guarantee   string `json:"guarantee"`
	Quarantined bool   `json:"quarantined,omitempty"`
}

// guaranteeWords are those of _meta["deed/tool"].
func guaranteeWords(g policy.Guarantee) string {
	switch g {
	case policy.GuaranteeRead:
		return "reads only"
	case policy.GuaranteeOneEndState:
		return "one end state, however often it is sent"
	case policy.GuaranteeHonoursKey:
		return "the provider honours a key: at most once"
	case policy.GuaranteeNeither:
		return "at most once; doubts go to a person"
	}
	return string(g)
}

// standings adds to the advice what the ledger knows, where there is one.
func (a *app) standings(ctx context.Context, config *policy.Config, o mcpOptions, advice []policy.Advice) (list []toolStanding, err error) {
	list = make([]toolStanding, 0, len(advice))
	for _, v := range advice {
		list = append(list, toolStanding{Advice: v, Guarantee: guaranteeWords(v.Guarantee)})
	}
	path, named, err := a.ledgerAt(o.ledger, config)
	if err != nil && o.ledger == "" {
		return list, nil
	}
	if _, err := os.Stat(string(path)); errors.Is(err, fs.ErrNotExist) && !path.Database() && (!named || o.ledger == "") {
		return list, nil
	}
	core, err := daemon.Open(ctx, daemon.Options{Config: config, Ledger: path, Existing: true, Environ: a.Env, Log: a.note})
	switch {
	case err != nil && o.ledger == "":
		a.note(err.Error() + "; tools in quarantine are not marked")
		return list, nil
	case err != nil:
		return nil, &failure{code: exitUnavailable, err: err}
	}
	defer a.closing(core, &err)
	for i := range list {
		pin, _, err := core.Pin(ctx, list[i].Tool)
		if err != nil {
			return nil, err
		}
		if pin.Quarantined() {
			list[i].Quarantined, list[i].Guarantee = true, "quarantined: every call is refused"
		}
	}
	return list, nil
}

func (a *app) showTools(list []toolStanding, at place, verbose bool) error {
	if a.json {
		return a.printJSON(map[string]any{"tools": list})
	}
	if len(list) == 0 {
		return a.print("no tools")
	}
	rows := [][]string{{"TOOL", "EFFECT", "KEY", "GUARANTEE"}}
	for _, v := range list {
		rows = append(rows, []string{string(v.Tool), string(v.Effect), v.Key, v.Guarantee})
	}
	width := a.width()
	rows, left := fitted(rows, width, fit{"KEY", 24}, fit{"GUARANTEE", 24}, fit{"EFFECT", 0}, fit{"KEY", 12})
	lines := append(a.paint(table(rows), "quarantined:"), leftOut(left, width)...)
	for _, v := range list {
		if v.Quarantined {
			lines = append(lines, "", plain(string(v.Tool))+": its definition changed since it was pinned", "  next: "+at.command("tools diff", shellWord(string(v.Tool))))
		}
	}
	if verbose {
		return a.print(append(lines, foldedLines(eachTool(list), width)...)...)
	}
	lines = append(lines, foldedLines(grouped("why", list, func(v toolStanding) []string { return []string{v.Why} }), width)...)
	return a.print(append(lines, foldedLines(grouped("what would make it better", list, func(v toolStanding) []string { return v.Better }), width)...)...)
}

func eachTool(list []toolStanding) []string {
	var lines []string
	for _, v := range list {
		lines = append(lines, "", plain(string(v.Tool)), "  why: "+plain(v.Why))
		for _, better := range v.Better {
			lines = append(lines, "  better: "+plain(better))
		}
	}
	return lines
}

// grouped says each text once, with the tools that it is about.
func grouped(title string, list []toolStanding, texts func(toolStanding) []string) []string {
	var order []string
	about := map[string][]string{}
	mutating := 0
	oneServer := !slices.ContainsFunc(list, func(v toolStanding) bool { return v.Tool.Upstream() != list[0].Tool.Upstream() })
	for _, v := range list {
		if v.Effect != deed.EffectReadOnly {
			mutating++
		}
		for _, text := range texts(v) {
			if about[text] == nil {
				order = append(order, text)
			}
			name := string(v.Tool)
			if oneServer {
				name = v.Tool.Name()
			}
			about[text] = append(about[text], name)
		}
	}
	if len(order) == 0 {
		return nil
	}
	// What most tools share comes first.
	slices.SortStableFunc(order, func(a, b string) int { return len(about[b]) - len(about[a]) })
	lines := []string{"", title}
	for _, text := range order {
		lines = append(lines, "  "+plain(text), "    "+plain(severalTools(about[text], len(list), mutating)))
	}
	return lines
}

// toolsNamed is how many tools a line names.
const toolsNamed = 6

// severalTools names tools. Advice that as many tools share as change something
// is about these.
func severalTools(names []string, all, mutating int) string {
	switch {
	case len(names) == all && all > 1:
		return fmt.Sprintf("all %d tools", all)
	case len(names) == mutating && len(names) > toolsNamed+1:
		return fmt.Sprintf("all %d tools that change something", mutating)
	case len(names) > toolsNamed+1:
		return fmt.Sprintf("%s and %d more (--verbose names them)", strings.Join(names[:toolsNamed], ", "), len(names)-toolsNamed)
	}
	return strings.Join(names, ", ")
}
