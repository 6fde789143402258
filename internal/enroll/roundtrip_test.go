// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deed-run/deed/internal/enroll"
)

// layout writes random JSON text: gaps of spaces, newlines and, where the client
// takes them, comments and trailing commas.
type layout struct {
	t       *rapid.T
	relaxed bool
	noArgs  int // local servers written without an args array
}

func (l *layout) gap() string {
	gaps := []string{"", "", " ", "\n  ", "\r\n\t", "\n\n    "}
	if l.relaxed {
		gaps = append(gaps, " // it's \"[,{\n", "/* a, ] */", " /* \n */ ")
	}
	return rapid.SampledFrom(gaps).Draw(l.t, "gap")
}

func (l *layout) list(open, closing string, items []string) string {
	var out strings.Builder
	out.WriteString(open + l.gap())
	for i, item := range items {
		out.WriteString(item + l.gap())
		if i < len(items)-1 || l.relaxed && rapid.Bool().Draw(l.t, "trailing") {
			out.WriteString("," + l.gap())
		}
	}
	return out.String() + closing
}

func (l *layout) text(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		l.t.Fatal(err)
	}
	if rapid.Bool().Draw(l.t, "escape") {
		return strings.ReplaceAll(string(quoted), "/", `\/`)
	}
	return string(quoted)
}

func (l *layout) member(key, value string) string {
	return l.text(key) + l.gap() + ":" + l.gap() + value
}

func (l *layout) value(depth int) string {
	kind := rapid.IntRange(0, 5).Draw(l.t, "kind")
	if depth > 2 {
		kind = min(kind, 3)
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "-0.5e+3", "12345678901234567890"}).Draw(l.t, "scalar")
	case 1, 2, 3:
		return l.text(rapid.String().Draw(l.t, "text"))
	case 4:
		var items []string
		for range rapid.IntRange(0, 3).Draw(l.t, "elements") {
			items = append(items, l.value(depth+1))
		}
		return l.list("[", "]", items)
	default:
		return l.list("{", "}", []string{l.member("command", l.value(depth+1)), l.member("args", l.value(depth+1))})
	}
}

func (l *layout) server() string {
	if rapid.IntRange(0, 4).Draw(l.t, "remote") == 0 {
		return l.list("{", "}", []string{l.member("url", l.text("https://example.com/mcp")), l.member("headers", l.value(2))})
	}
	word := rapid.OneOf(rapid.StringMatching(`[a-z/\\. -]{1,8}[a-z]`), rapid.StringN(1, 6, -1).Filter(func(s string) bool { return strings.TrimSpace(s) != "" }))
	members := []string{l.member("command", l.text(word.Draw(l.t, "command")))}
	if rapid.IntRange(0, 3).Draw(l.t, "args") > 0 {
		var args []string
		for _, a := range rapid.SliceOfN(word, 0, 4).Draw(l.t, "words") {
			args = append(args, l.text(a))
		}
		members = append(members, l.member("args", l.list("[", "]", args)))
	} else {
		l.noArgs++
	}
	members = append(members, l.member("env", l.value(1)), l.member("timeout", "45000"))
	return l.list("{", "}", rapid.Permutation(members).Draw(l.t, "order"))
}

func (l *layout) file(section string) string {
	var servers []string
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9_ ."ü-]{1,6}`), 0, 4, rapid.ID[string])
	for _, name := range names.Draw(l.t, "names") {
		servers = append(servers, l.member(name, l.server()))
	}
	members := []string{l.member("other", l.value(0)), l.member(section, l.list("{", "}", servers)), l.member("inputs", l.value(0))}
	mark := rapid.SampledFrom([]string{"", "", "\ufeff"}).Draw(l.t, "byte order mark")
	return mark + l.gap() + l.list("{", "}", rapid.Permutation(members).Draw(l.t, "order")) + l.gap()
}

func TestUndoOfAnyRandomFileGivesBackEveryByte(t *testing.T) {
	for _, name := range []string{"claude-code", "vscode"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				l := &layout{t: rt, relaxed: name == "vscode"}
				section := map[bool]string{false: "mcpServers", true: "servers"}[l.relaxed]
				before := l.file(section)
				checkRoundTrip(rt, place(t, name, before), before, l.noArgs > 0)
			})
		})
	}
}

// checkRoundTrip plans, applies and undoes: on the untouched file, on the file
// with a later edit, and on the file without its backup.
func checkRoundTrip(rt *rapid.T, target enroll.Target, before string, missingArgs bool) {
	opts := enroll.Options{Binary: `C:\deed dir\deed.exe`}
	must := func(c enroll.Change, err error) enroll.Change {
		if err != nil {
			rt.Fatalf("%v\nfile: %q", err, before)
		}
		return c
	}
	same := func(what, want string) {
		got, err := os.ReadFile(target.Path)
		if err != nil || string(got) != want {
			rt.Fatalf("%s: %v\nwant %q\ngot  %q", what, err, want, got)
		}
	}
	backup := ""
	put := func() {
		var err error
		if backup, err = enroll.Apply(must(enroll.Plan(target, opts))); err != nil {
			rt.Fatal(err)
		}
	}
	out := func() {
		if _, err := enroll.Apply(must(enroll.Undo(target, opts))); err != nil {
			rt.Fatal(err)
		}
	}
	first := must(enroll.Plan(target, opts))
	rt.Logf("wrapped %q, left %v", first.Wrapped, first.Left)
	put()
	if again := must(enroll.Plan(target, opts)); !again.Empty() {
		rt.Fatalf("a second plan changes the file: %s", again.Diff())
	}
	out()
	same("untouched since", before)
	if first.Empty() {
		return
	}
	put()
	later := string(first.After) + "\n\n"
	if err := os.WriteFile(target.Path, []byte(later), 0o600); err != nil {
		rt.Fatal(err)
	}
	out()
	same("edited later", before+"\n\n")
	if err := os.WriteFile(target.Path, first.After, 0o600); err != nil {
		rt.Fatal(err)
	}
	if err := os.Remove(backup); err != nil {
		rt.Fatal(err)
	}
	out()
	if !missingArgs {
		same("no backup", before)
	}
	if err := os.RemoveAll(filepath.Dir(target.Path)); err != nil {
		rt.Fatal(err)
	}
}
