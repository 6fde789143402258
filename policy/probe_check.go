// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// checkLookups refuses look-ups that cannot tell, and marks that are in each
// other's way. It reads the whole entry, after what it inherits.
func (d *decoder) checkLookups(e entry, tool *Tool, config *Config, owner string) {
	if p := tool.ProviderKey; p != nil {
		_, connects := config.Connectors[owner]
		p.unsent = p.Header != "" && len(config.Upstreams[owner].Command) > 0 || p.Request != "" && !connects
	}
	d.checkMarks(e, *tool)
	if p := tool.Reconcile; p != nil {
		at := d.inside(e.value, "reconcile")
		d.checkReader(d.inside(at, "tool"), &p.Tool, config, owner)
		d.checkFound(at, p, *tool)
	}
	if tool.Resource != nil {
		d.checkReader(d.inside(d.inside(e.value, "resource"), "get"), &tool.Resource.Get, config, owner)
	}
	if tool.Subject != nil {
		d.checkReader(d.inside(d.inside(e.value, "revision"), "tool"), &tool.Subject.Tool, config, owner)
	}
}

// checkMarks refuses marks at one place, or one within the other.
func (d *decoder) checkMarks(e entry, tool Tool) {
	type marked struct{ key, pointer string }
	var all []marked
	if m := tool.Marker; m != nil {
		all = append(all, marked{"marker", m.Into + m.Append})
	}
	if tool.ClientID != nil {
		all = append(all, marked{"client_id", tool.ClientID.Into})
	}
	if p := tool.ProviderKey; p != nil {
		all = append(all, marked{"provider_key", p.Into})
		if usable := tool.Lease + p.Margin; p.Retention > p.Margin && p.Retention <= usable {
			d.refuse(d.inside(d.inside(e.value, "provider_key"), "retention"), fmt.Sprintf("retention %s is not longer than margin and lease together, %s, so that no key is ever presented again", short(p.Retention), short(usable)),
				"write a smaller margin or lease")
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.pointer != "" && b.pointer != "" && (strings.HasPrefix(a.pointer+"/", b.pointer+"/") || strings.HasPrefix(b.pointer+"/", a.pointer+"/")) {
				d.refuse(d.inside(e.value, a.key), a.pointer+" is written by "+b.key+" too", "write another pointer at one of the two")
			}
		}
	}
}

// planted are the marks that the tool's calls carry.
func (t Tool) planted() []string {
	var list []string
	if t.Marker != nil {
		list = append(list, varMarker)
	}
	if t.ClientID != nil {
		list = append(list, varClientID)
	}
	if t.ProviderKey != nil {
		list = append(list, varProviderKey)
	}
	return list
}

// checkFound refuses a look-up that does not look for what the tool planted.
func (d *decoder) checkFound(at place, p *Probe, tool Tool) {
	planted := tool.planted()
	gate := tool.Lease + tool.MaxProcessing + p.Lag
	if p.GiveUp == 0 {
		p.GiveUp = max(time.Hour, 2*gate)
	}
	searched := false
	for _, s := range p.args.all() {
		if !slices.Contains(markNames(), s.name) {
			continue
		}
		searched = true
		if !slices.Contains(planted, s.name) {
			d.refuse(d.inside(at, "args"), "looks for {"+s.name+"}, which this tool does not plant", "write "+s.name+": beside it, or look for what is planted")
			return
		}
	}
	if p.found == nil {
		return
	}
	p.own = nil
	for _, name := range p.found.mentions {
		switch {
		case !slices.Contains(markNames(), name):
		case !slices.Contains(planted, name):
			d.refuse(d.inside(at, "found"), "compares with "+name+", which this tool does not plant", "write "+name+": beside it, or compare with what is planted")
			return
		default:
			p.own = append(p.own, name)
		}
	}
	switch {
	case len(p.own) == 0 && len(planted) == 0 && tool.Effect != deed.EffectIdempotent:
		d.refuse(d.inside(at, "found"), "compares with no mark, and the tool plants none: an equal effect of somebody else would be taken for this one",
			"write marker: {append: /description} or {into: /pointer} beside it, and compare with marker")
	case len(p.own) == 0 && tool.Effect != deed.EffectIdempotent:
		d.refuse(d.inside(at, "found"), "compares with no mark: an equal effect of somebody else would be taken for this one",
			"compare with "+listed(planted, "or")+", such as i.description.contains("+planted[0]+")")
	case !searched && p.next == nil && len(p.own) > 0:
		d.refuse(at, "reads a list that may end before the effect: args look for no mark, and there are no pages",
			"write {"+p.own[0]+"} in args, or pages: {next: ..., arg: ...}")
	case tool.MaxProcessing > 0 && p.GiveUp <= gate:
		d.refuse(d.first(at, "give_up", "lag"), fmt.Sprintf("give_up %s ends before absence can count, after lease, max_processing and lag, %s", short(p.GiveUp), short(gate)),
			"write a longer give_up")
	}
}

// checkReader refuses a tool for looking that may change things.
func (d *decoder) checkReader(at place, tool *deed.Tool, config *Config, owner string) {
	if *tool == "" {
		return
	}
	if tool.Upstream() == "." {
		*tool = deed.Tool(owner + "/" + tool.Name())
	}
	name := tool.Upstream()
	if _, isProgram := config.Programs[name]; isProgram {
		d.refuse(at, name+" is a program that runs its tools itself, and look-ups call tools", "write a tool of upstreams or connectors")
		return
	}
	if _, isAPI := config.HTTP[name]; isAPI && !config.callable(name) {
		d.refuse(at, name+" is an API behind the proxy, and look-ups call tools", "write a tool of upstreams or connectors")
		return
	}
	if !config.callable(name) {
		remedy := "declare " + name + " under upstreams"
		if near := nearest(name, config.owners()); near != "" {
			remedy = "write " + near + "/" + tool.Name() + " instead, or " + remedy
		}
		d.undeclared(at, "upstream "+name+" is not declared", remedy, "upstreams", "http", "connectors", "programs")
		return
	}
	d.readers = append(d.readers, looking{at, *tool})
}

// looking is a tool that something looks with.
type looking struct {
	at   place
	tool deed.Tool
}

// checkReaders judges the tools that look-ups use once all entries are read.
func (d *decoder) checkReaders(config *Config) {
	for _, r := range d.readers {
		entry := config.Tools[r.tool]
		_, reads := readVerb(r.tool)
		switch {
		case entry.Effect == deed.EffectReadOnly:
		case entry.Effect != "":
			d.refuse(r.at, string(r.tool)+" is declared "+string(entry.Effect)+", and looking must change nothing", "name a tool that only reads")
		case !reads:
			d.refuse(r.at, string(r.tool)+" is not known to be read-only", "write tools."+string(r.tool)+": {effect: read_only} when it only reads")
		default:
			config.lookers[r.tool] = true
		}
	}
}
