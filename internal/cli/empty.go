// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

// none says that a list is empty, of which ledger, and what else there is to look at:
// an empty list of another ledger than the one that is meant looks like good news. The flags are those that
// narrowed the list.
func (p place) none(what, where string, flags ...string) []string {
	text := "no " + what + " " + where
	if p.tenant != "" {
		text += ", tenant " + p.tenant
	}
	if len(flags) > 0 {
		text += ", with " + strings.Join(flags, " and ")
	}
	lines := []string{plain(text)}
	if len(flags) > 0 {
		lines = append(lines, "all that are there: "+p.command("ops list"))
	}
	switch {
	case p.tenant != "":
		all := p
		all.tenant = ""
		lines = append(lines, "of every tenant: "+all.command("ops list"))
	case p.config == "" && p.ledger == "" && p.server == "":
		lines = append(lines, "another ledger is named by --config FILE, --ledger FILE or --server URL")
	}
	return lines
}

// narrowing lists the flags that leave operations out.
func (l listing) narrowing() []string {
	var flags []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--status", len(l.statuses) > 0}, {"--tool", l.tool != ""}, {"--actor", l.actor != ""}, {"--key", l.key != ""}, {"--meta", len(l.meta) > 0},
		{"--older-than", l.older > 0}, {"--needs-person", l.needsPerson}, {"--before", l.before != ""},
	} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	return flags
}
