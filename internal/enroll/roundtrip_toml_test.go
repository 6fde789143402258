// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tomlLayout writes random TOML with servers in every spelling.
type tomlLayout struct {
	t       *rapid.T
	newline string
	noArgs  int
}

func (l *tomlLayout) text(s string) string {
	basic := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
	forms := []string{`"` + basic + `"`, `"""` + l.newline + basic + `"""`}
	if !strings.ContainsAny(s, "'") {
		forms = append(forms, "'"+s+"'", "'''"+s+"'''")
	}
	return rapid.SampledFrom(forms).Draw(l.t, "form")
}

func (l *tomlLayout) array(words []string, oneLine bool) string {
	gap := func() string {
		if oneLine {
			return rapid.SampledFrom([]string{"", " "}).Draw(l.t, "gap")
		}
		return rapid.SampledFrom([]string{"", " ", l.newline + "\t", " # ], \"no" + l.newline + "  "}).Draw(l.t, "gap")
	}
	out := "[" + gap()
	for i, w := range words {
		out += l.text(w) + gap()
		if i < len(words)-1 || rapid.Bool().Draw(l.t, "trailing") {
			out += "," + gap()
		}
	}
	return out + "]"
}

func (l *tomlLayout) server(name string) string {
	word := rapid.StringMatching(`[a-z/\\."'é -]{0,6}[a-z]`)
	style := rapid.SampledFrom([]string{"table", "table", "inline", "dotted"}).Draw(l.t, "style")
	fields := []string{"command = " + l.text(word.Draw(l.t, "command"))}
	if rapid.IntRange(0, 3).Draw(l.t, "args") > 0 {
		fields = append(fields, "args="+l.array(rapid.SliceOfN(word, 0, 4).Draw(l.t, "words"), style == "inline"))
	} else {
		l.noArgs++
	}
	fields = append(fields, `env = { command = "x", args = ["]"] }`, "tool_timeout_sec = 9.5")
	fields = rapid.Permutation(fields).Draw(l.t, "order")
	name = l.text(name)
	if strings.HasPrefix(name, `"""`) || strings.HasPrefix(name, "'''") {
		name = fmt.Sprintf("%q", strings.Trim(strings.TrimPrefix(name, `"""`+l.newline), `"'`))
	}
	comment := rapid.SampledFrom([]string{"", " # command = \"no\""}).Draw(l.t, "comment")
	switch style {
	case "inline":
		return "mcp_servers." + name + " = { " + strings.Join(fields, " , ") + " }" + comment
	case "dotted":
		return "mcp_servers." + name + " . " + strings.Join(fields, comment+l.newline+" mcp_servers."+name+".")
	default:
		return "[ mcp_servers." + name + "]" + comment + l.newline + "  " + strings.Join(fields, comment+l.newline+"  ")
	}
}

func TestUndoOfAnyRandomTOMLGivesBackEveryByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &tomlLayout{t: rt, newline: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "newline")}
		var dotted, tables []string
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9_ .ü-]{1,6}`), 0, 4, rapid.ID[string])
		for _, name := range names.Draw(rt, "names") {
			if s := l.server(name); strings.HasPrefix(s, "[") {
				tables = append(tables, s)
			} else {
				dotted = append(dotted, s)
			}
		}
		lines := append([]string{"model = 'x' # [mcp_servers.fake]", `notes = """` + l.newline + `[mcp_servers.no]\` + l.newline + `"""`}, dotted...)
		lines = append(lines, tables...)
		before := strings.Join(lines, l.newline)
		if rapid.Bool().Draw(rt, "last newline") {
			before += l.newline
		}
		checkRoundTrip(rt, place(t, "codex", before), before, l.noArgs > 0)
	})
}
