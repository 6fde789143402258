// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// ruleChange is what teaching does to the configuration file.
type ruleChange struct {
	file          string
	before, after []byte
	// there: the file says so already.
	there  bool
	backup string
}

// planRule works out the file with the rule, and reads it as a gateway would.
func (a *app) planRule(config *policy.Config, l lesson) (ruleChange, error) {
	c := ruleChange{file: config.File}
	if _, api := config.HTTP[l.tool.Upstream()]; api {
		return c, fail(exitUsage, "%s is a route; nothing was done; write the rule into its entry under routes: by hand", l.tool)
	}
	rules := config.ToolSettings(l.tool).Failed
	for _, rule := range rules {
		if rule.Text != nil && rule.Text.String() == l.text && rule.Code == nil && rule.Status == 0 {
			c.there = true
			return c, nil
		}
	}
	var err error
	if c.before, err = os.ReadFile(config.File); err != nil {
		return c, fail(exitUsage, "%w; nothing was done", err)
	}
	byHand := func(why string) error {
		return fail(exitUsage, "%s: %s; nothing was done; write this into the entry of %s yourself: failed: [%s]", config.File, why, l.tool, (&fileEdit{}).rule(l.text, l.final))
	}
	if c.after, err = insertFailedRule(c.before, string(l.tool), l.text, l.final); err != nil {
		return c, byHand(err.Error())
	}
	fresh, err := a.readBeside(config.File, c.after)
	if err != nil {
		return c, byHand("it cannot be edited without harm (" + firstLine(err.Error()) + ")")
	}
	now := fresh.ToolSettings(l.tool).Failed
	switch {
	case len(now) == 1 && len(rules) > 0:
		return c, byHand("the entry inherits its failed: rules, and a list of its own would take their place")
	case len(now) != len(rules)+1 || now[len(now)-1].Text == nil || now[len(now)-1].Text.String() != l.text || now[len(now)-1].Final != l.final:
		return c, byHand("its entry is written in a way that cannot be edited")
	}
	return c, nil
}

// readBeside reads a changed file from the folder of the old one, so that
// relative names lead to the same places.
func (a *app) readBeside(file string, doc []byte) (*policy.Config, error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".deed-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(doc)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return daemon.LoadConfig(f.Name(), a.getenv)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// write keeps a copy beside the file and puts the new one in its place, whole or
// not at all.
func (c ruleChange) write() (backup string, err error) {
	info, err := os.Stat(c.file)
	if err != nil {
		return "", fail(exitUsage, "%w; nothing was done", err)
	}
	if seen, err := os.ReadFile(c.file); err != nil || !bytes.Equal(seen, c.before) {
		return "", fail(exitFailed, "%s was changed meanwhile; nothing was done; run the command again", c.file)
	}
	backup = c.file + ".before-" + time.Now().UTC().Format("20060102T150405.000Z")
	// The copy may hold what its owner alone may read.
	if err := os.WriteFile(backup, c.before, 0o600); err != nil {
		return "", fail(exitFailed, "no copy can be kept: %w; nothing was done; make the folder writable", err)
	}
	fresh := c.file + ".deed-new"
	if err = os.WriteFile(fresh, c.after, info.Mode().Perm()); err == nil {
		err = os.Rename(fresh, c.file)
	}
	if err != nil {
		_ = os.Remove(fresh)
		return "", fail(exitFailed, "%s cannot be written: %w; it is as it was, and nothing was settled", c.file, err)
	}
	return backup, nil
}

func taughtLines(c ruleChange, past []pastError, l lesson, at place) []string {
	var lines []string
	switch {
	case c.there:
		lines = append(lines, c.file+" has this rule already")
	default:
		lines = append(lines, "--- "+c.file, "+++ "+c.file+" with the rule")
		lines = append(lines, nearChanges(compareLines(strings.Split(string(c.before), "\n"), strings.Split(string(c.after), "\n")))...)
	}
	if !strings.HasPrefix(l.text, "^") {
		lines = append(lines, "", "beware: without ^ at its beginning it also fits texts that merely mention the error")
	}
	rows := [][]string{{"OPERATION", "TENANT", "STATUS", "ANSWER"}}
	settled, left, refused := 0, 0, 0
	for _, p := range past {
		state := "would be settled as not applied"
		switch {
		case p.left != "":
			state = "left: " + p.left
			left++
		case p.err != nil:
			state = "left: " + p.err.Error()
			refused++
		case p.settled:
			state = "settled as not applied"
			settled++
		default:
			settled++
		}
		rows = append(rows, []string{string(p.op.ID), string(p.op.Tenant), state, commonStart(p.text)})
	}
	lines = append(lines, section("past calls whose answer fits", rows)...)
	verb := "settled"
	if l.dry {
		verb = "would be settled"
	}
	lines = append(lines, "", fmt.Sprintf("%s %s, %d left", many(settled, "past call"), verb, left+refused))
	if settled > 0 {
		lines = append(lines, "what is settled may be sent again by its caller under the same key")
	}
	switch {
	case l.dry:
		again := []string{"tools teach", shellWord(string(l.tool)), "--text", shellWord(l.text)}
		if l.final {
			again = append(again, "--final")
		}
		lines = append(lines, "nothing was written; next, if each of these answers means that nothing was changed:", "  "+at.command(again...))
	case c.backup != "":
		lines = append(lines, "the file before is "+c.backup+"; gateways take the rule when they are started again")
	}
	return lines
}

// commonStart is the beginning of an answer, on one line.
func commonStart(text string) string {
	letters := []rune(plain(text))
	if len(letters) > 100 {
		return string(letters[:100]) + "..."
	}
	return string(letters)
}

func taughtView(c ruleChange, past []pastError, l lesson) map[string]any {
	calls := make([]map[string]any, 0, len(past))
	for _, p := range past {
		left := p.left
		if p.err != nil {
			left = p.err.Error()
		}
		calls = append(calls, map[string]any{"operation_id": p.op.ID, "tenant": p.op.Tenant, "status": p.op.Status, "answer": p.text, "settled": p.settled, "left": left})
	}
	return map[string]any{
		"tool": l.tool, "text": l.text, "final": l.final, "dry_run": l.dry, "file": c.file, "already_there": c.there, "backup": c.backup, "calls": calls,
	}
}
