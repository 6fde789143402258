// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/internal/enroll"
	"github.com/deed-run/deed/policy"
)

func (a *app) examineUpstreams(ctx context.Context, config *policy.Config, at place) []finding {
	var findings []finding
	for _, name := range daemon.Servers(config) {
		tools, problems := a.listTools(ctx, config, name, io.Discard)
		if len(problems) > 0 {
			findings = append(findings, ok("upstream "+name, "%s", deed.Whole(problems[0])).as(broken, "correct its command or URL; "+place{config: at.config}.command("tools -v --upstream", shellWord(name))+" shows what it says"))
			continue
		}
		said := "answers with %s"
		if _, made := config.Connectors[name]; made {
			said = "is made by deed, with %s; what they reach is not contacted here"
		}
		findings = append(findings, ok("upstream "+name, said, many(len(tools), "tool")))
		for _, text := range daemon.Unlisted(config, name, tools) {
			findings = append(findings, ok("upstream "+name, "%s", text).as(broken, ""))
		}
	}
	return findings
}

// examineClients looks whether the clients' servers run through deed.
func (a *app) examineClients() []finding {
	env, err := a.clientPlaces()
	if err != nil {
		return []finding{ok("clients", "%v", err).as(warning, "")}
	}
	targets, err := enroll.Find(env)
	if err != nil {
		return []finding{ok("clients", "%v", err).as(warning, "")}
	}
	if len(targets) == 0 {
		return []finding{ok("clients", "no configuration of a known client was found")}
	}
	var findings []finding
	for _, t := range targets {
		findings = append(findings, a.examineClient(t))
	}
	return findings
}

func (a *app) examineClient(t enroll.Target) finding {
	check := "client " + t.Client.Name
	options, err := a.enrolOptions(t)
	if err != nil {
		return ok(check, "%v", err).as(warning, "")
	}
	change, err := enroll.Plan(t, options)
	if err != nil {
		return ok(check, "%v", err).as(warning, "")
	}
	count := map[enroll.NoteKind]int{}
	for _, n := range change.Left {
		count[n.Kind]++
	}
	parts := []string{fmt.Sprintf("%d through deed", count[enroll.NoteWrapped])}
	if n := count[enroll.NoteRemote]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d remote, not through deed", n))
	}
	if n := count[enroll.NoteUnsupported]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d that deed cannot edit", n))
	}
	if len(change.Wrapped) > 0 {
		parts = append(parts, "not through deed: "+strings.Join(change.Wrapped, ", "))
	}
	f := ok(check, "%s: %s", t.Path, strings.Join(parts, "; "))
	if len(change.Wrapped) > 0 {
		return f.as(warning, "run deed init --client "+t.Client.Name+" --write")
	}
	return f
}
