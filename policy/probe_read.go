// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

func reconcileKeys() []key[Probe] {
	evaluated := func(name, initial string, field func(*Probe) **expression, variables ...string) key[Probe] {
		return key[Probe]{name: name, initial: initial, read: func(d *decoder, at place, p *Probe) { *field(p) = d.expression(at, variables...) }}
	}
	page := append([]string{varResult, varArgs}, markNames()...)
	object := append(slices.Clone(page), varItem)
	return []key[Probe]{
		{name: "tool", read: func(d *decoder, at place, p *Probe) { d.reader(at, &p.Tool) }},
		{name: "args", read: func(d *decoder, at place, p *Probe) {
			p.args = d.block(at, append(markNames(), varArgs+"."))
		}},
		evaluated("found", "", func(p *Probe) **expression { return &p.found }, page...),
		evaluated("id", "item.id", func(p *Probe) **expression { return &p.id }, object...),
		evaluated("url", "", func(p *Probe) **expression { return &p.url }, object...),
		evaluated("token", "", func(p *Probe) **expression { return &p.token }, object...),
		{name: "result", read: func(d *decoder, at place, p *Probe) {
			p.result = d.block(at, []string{"id", "url", varItem + ".", varArgs + "."})
			if _, content := d.written(at, "content"); isBlock(at) && !content {
				if _, structured := d.written(at, "structuredContent"); !structured {
					d.refuse(at, "is no result of a tool", "write content: or structuredContent: in it")
				}
			}
		}},
		{name: "lag", initial: "30s", read: func(d *decoder, at place, p *Probe) { d.duration(at, &p.Lag) }},
		{name: "give_up", initial: "1h", read: func(d *decoder, at place, p *Probe) { d.duration(at, &p.GiveUp) }},
		{name: "inline", initial: "false", read: func(d *decoder, at place, p *Probe) { d.truth(at, &p.Inline) }},
		{
			name:  "pages",
			read:  func(d *decoder, at place, p *Probe) { d.pages(at, p) },
			below: below(".", pagesKeys),
		},
	}
}

func pagesKeys() []key[Probe] {
	return []key[Probe]{
		{name: "next", read: func(d *decoder, at place, p *Probe) { p.next = d.expression(at, varResult, varArgs) }},
		{name: "arg", read: func(d *decoder, at place, p *Probe) { p.cursor, _ = d.pointer(at) }},
	}
}

func (d *decoder) pages(at place, p *Probe) {
	before := len(d.found)
	block(d, at, pagesKeys(), p)
	if len(d.found) == before && (p.next == nil || p.cursor == "") {
		d.refuse(at, "says not how the next page is read", "write next: and an expression that yields its cursor, and arg: and the pointer to the argument that takes it")
	}
}

// block reads a template that must be a block of keys.
func (d *decoder) block(at place, names []string) *template {
	if !isBlock(at) {
		d.wrongType(at, "keys with values", "write keys below it, or remove the key")
		return nil
	}
	return d.template(at, names)
}

// reader reads the name of a tool that only reads; ./name is one of the same
// upstream, which the whole entry's check puts in.
func (d *decoder) reader(at place, into *deed.Tool) {
	text, ok := d.text(at)
	if !ok {
		return
	}
	tool := deed.Tool(text)
	if tool.Upstream() == "" || tool.Name() == "" {
		d.refuse(at, "names no upstream", "write upstream/tool, or ./tool for one of the same upstream")
		return
	}
	*into = tool
}

func (d *decoder) reconcile(at place, into **Probe) {
	before := len(d.found)
	p := Probe{Lag: 30 * time.Second}
	block(d, at, reconcileKeys(), &p)
	if p.id == nil {
		p.id, _ = compileExpression("item.id", []string{varItem})
	}
	*into = &p
	if len(d.found) > before {
		return
	}
	switch {
	case p.Tool == "":
		d.refuse(at, "names no tool to look up with", "write tool: and a read-only tool")
	case p.found == nil:
		d.refuse(at, "does not say what is found", "write found: and an expression that yields the list of matches, such as \"result.structuredContent.items.filter(i, i.description.contains(marker))\"")
	}
}

func resourceKeys() []key[Resource] {
	return []key[Resource]{
		{name: "get", read: func(d *decoder, at place, r *Resource) { d.reader(at, &r.Get) }},
		{name: "id", initial: "/id", read: func(d *decoder, at place, r *Resource) { r.ID, _ = d.pointer(at) }},
	}
}

func (d *decoder) resource(at place, into **Resource) {
	before := len(d.found)
	r := Resource{ID: "/id"}
	block(d, at, resourceKeys(), &r)
	*into = &r
	if len(d.found) == before && r.Get == "" {
		d.refuse(at, "names no tool", "write get: and the read-only tool that reads what was created")
	}
}

func subjectKeys() []key[Subject] {
	return []key[Subject]{
		{name: "tool", read: func(d *decoder, at place, s *Subject) { d.reader(at, &s.Tool) }},
		{name: "args", read: func(d *decoder, at place, s *Subject) { s.args = d.block(at, []string{varArgs + "."}) }},
		{name: "value", read: func(d *decoder, at place, s *Subject) {
			if text, ok := written(at.node); ok && strings.HasPrefix(text, "/") {
				s.pointer, _ = d.pointer(at)
				return
			}
			s.value = d.expression(at, varResult)
		}},
	}
}

func (d *decoder) subject(at place, into **Subject) {
	before := len(d.found)
	var s Subject
	block(d, at, subjectKeys(), &s)
	*into = &s
	if len(d.found) > before {
		return
	}
	switch {
	case s.Tool == "":
		d.refuse(at, "names no tool", "write tool: and the read-only tool that reads the subject")
	case s.pointer == "" && s.value == nil:
		d.refuse(at, "does not say where the version stands", "write value: and the pointer to it in the result, such as /structuredContent/version")
	}
}
