// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/deed-run/deed"

// Program runs its tools itself and asks the ledger first: by claims of
// POST /v1/claims, by [deed.Runtime.Do], or as Activities of a worker. Nothing
// is ever sent to it from here.
type Program struct {
	Name string
	// Account, when declared, says where effects go.
	Account string
}

func programKeys() []key[Program] {
	return []key[Program]{
		{name: "account", read: func(d *decoder, at place, p *Program) { name(d, at, &p.Account) }},
	}
}

func (d *decoder) programs(at place, config *Config) {
	for _, e := range d.entries(at) {
		named := d.upstreamName(e)
		if named && config.owns(e.name) {
			d.refuse(e.key, "has the name of an upstream, connector or HTTP API, to which its tools would be sent", "write another name")
			named = false
		}
		program := Program{Name: e.name}
		block(d, e.value, programKeys(), &program)
		if named {
			config.Programs[e.name] = program
		}
	}
}

// checkProgram refuses what is read from answers, for the answers of a program's
// tools never come here, and leaves what was approved to the program's next call.
func (d *decoder) checkProgram(e entry, tool *Tool, config *Config) {
	if _, own := config.Programs[deed.Tool(e.name).Upstream()]; !own {
		return
	}
	for _, name := range []string{"receipt", "failed", "is_error"} {
		if at, ok := d.written(e.value, name); ok {
			d.refuse(at, "reads the answer of a tool, and the program that runs this one says itself what came of it", "remove it: the receipt and the outcome are what the program settles with")
		}
	}
	if approval := tool.Approval; approval != nil {
		if _, said := d.written(d.inside(e.value, "approval"), "run"); !said {
			approval.OnCall = true
		}
	}
}
