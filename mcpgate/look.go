// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"strings"
	"unicode"
)

// readTool names the read-only tool that a model may look with after a call of tool, or "": the only one of the upstream, or the only one
// whose name begins with the same word. Any other would send the model the wrong way.
func (g *Gate) readTool(upstream, tool string) string {
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	var all, near []string
	for name, d := range g.catalog.tools {
		if name.Upstream() != upstream || d.rule.Mutates() || d.Raw == nil {
			continue
		}
		all = append(all, d.Name)
		if strings.EqualFold(firstWord(d.Name), firstWord(tool)) {
			near = append(near, d.Name)
		}
	}
	switch {
	case len(near) == 1:
		return near[0]
	case len(all) == 1:
		return all[0]
	}
	return ""
}

// around tells what a text about a tool may name.
func (g *Gate) around(s *Session, d *described) surroundings {
	a := surroundings{reads: d.wiring.Look.Name(), tells: g.offersOperations(s), runs: g.runsApproved}
	if d.wiring.Look.Upstream() != s.Upstream { // a model can only call what this server lists
		a.reads = g.readTool(s.Upstream, d.Name)
	}
	return a
}

// firstWord ends at a sign, or before a capital letter that follows a small one.
func firstWord(name string) string {
	small := false
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || small && unicode.IsUpper(r) {
			return name[:i]
		}
		small = unicode.IsLower(r)
	}
	return name
}
