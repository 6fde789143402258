// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// provider is one file of the catalogue.
type provider struct {
	info    ProviderInfo
	headers []named
	tools   map[string]*tool
	order   []*tool
	lookups []*lookup
}

// entry is one operation while it is read.
type entry struct {
	OperationInfo
	tool   *tool
	at     place
	checks string
}

func parseProvider(source []byte, file string) (*provider, error) {
	r := &reader{file: file, line: 1}
	p := &provider{tools: map[string]*tool{}}
	p.info.Source = bytes.Clone(source)
	if root := r.parse(source); root != nil {
		at := place{node: root}
		block(r, at, providerFields, p)
		if p.info.Name == "" || p.info.BaseURL == "" || len(p.info.Operations) == 0 {
			r.refuse(at, "names no provider, base_url or operation", "write provider:, base_url: and operations:")
		}
		r.tie(p.order, p.lookups)
	}
	if len(r.found) > 0 {
		return nil, problemsOf(r.found)
	}
	for i, t := range p.order {
		p.info.Operations[i].Entry = t.entry(p.lookups, &p.info.Operations[i])
	}
	return p, nil
}

var providerFields = []field[provider]{
	textField("provider", func(p *provider) *string { return &p.info.Name }),
	textField("title", func(p *provider) *string { return &p.info.Title }),
	textField("base_url", func(p *provider) *string { return &p.info.BaseURL }),
	{"headers", func(r *reader, at place, p *provider) { p.headers = r.named(at) }},
	{"operations", func(r *reader, at place, p *provider) {
		for _, m := range r.members(at) {
			e := &entry{at: m.value}
			e.Name = p.info.Name + "/" + m.name
			e.Notes, e.Unverified = map[string]string{}, map[string]string{}
			block(r, m.value, entryFields, e)
			r.checkEntry(e)
			if e.tool == nil {
				continue
			}
			e.tool.name = m.name
			e.Description = e.tool.description
			e.HasKey, e.Retention = e.tool.request.key.declared(), e.tool.request.key.retention
			p.tools[m.name], p.order = e.tool, append(p.order, e.tool)
			p.info.Operations = append(p.info.Operations, e.OperationInfo)
		}
	}},
	{"lookups", func(r *reader, at place, p *provider) { p.lookups = r.lookups(at) }},
}

var entryFields = []field[entry]{
	wordField("kind", func(e *entry) *string { return &e.Kind }, "create", "send", "transition", "converge"),
	{"strategies", func(r *reader, at place, e *entry) {
		for _, item := range r.items(at, "strategies") {
			var word string
			wordField("", func(s *string) *string { return s }, "native_key", "client_id", "two_phase", "marker_list", "marker_search", "heuristic", "webhook", "state", "log", "human").
				read(r, item, &word)
			e.Strategies = append(e.Strategies, word)
		}
	}},
	{"key", func(r *reader, at place, e *entry) { block(r, at, keyFactFields, e) }},
	{"client_id", func(r *reader, at place, e *entry) {
		block(r, at, []field[entry]{
			wordField("uniqueness", func(e *entry) *string { return &e.Uniqueness }, "enforced", "best_effort"), noteField("note", "client_id"),
		}, e)
	}},
	{"marker", func(r *reader, at place, e *entry) {
		block(r, at, []field[entry]{
			wordField("visibility", func(e *entry) *string { return &e.MarkerVisibility }, "hidden", "editors", "public"),
			truthField("survives_edit", func(e *entry) *bool { return &e.MarkerSurvives }), noteField("note", "marker"),
		}, e)
	}},
	{"lookup", func(r *reader, at place, e *entry) {
		block(r, at, []field[entry]{textsField("scopes", func(e *entry) *[]string { return &e.Scopes }), noteField("note", "lookup")}, e)
	}},
	{"duplicate", func(r *reader, at place, e *entry) { block(r, at, []field[entry]{noteField("note", "duplicate")}, e) }},
	noteField("ambiguous", "ambiguous"),
	noteField("limits", "limits"),
	noteField("note", "note"),
	textsField("webhooks", func(e *entry) *[]string { return &e.Webhooks }),
	textsField("ownership", func(e *entry) *[]string { return &e.Ownership }),
	{"unverified", func(r *reader, at place, e *entry) {
		for _, m := range r.members(at) {
			if text, ok := r.text(m.value); ok {
				e.Unverified[m.name] = text
			}
		}
	}},
	wordField("confidence", func(e *entry) *Confidence { return &e.Confidence }, Stated, Observed, Unverified),
	textField("verified_at", func(e *entry) *string { return &e.checks }),
	textsField("sources", func(e *entry) *[]string { return &e.Sources }),
	{"tool", func(r *reader, at place, e *entry) {
		e.tool = &tool{at: at}
		before := len(r.found)
		block(r, at, toolFields, e.tool)
		if len(r.found) == before {
			r.finish(e.tool)
		}
	}},
}

var keyFactFields = []field[entry]{
	textsField("scope", func(e *entry) *[]string { return &e.Key.Scope }),
	wordField("bound", func(e *entry) *string { return &e.Key.Bound }, "at_least", "exactly", "unknown"),
	{"mismatch", func(r *reader, at place, e *entry) { block(r, at, keyAnswerFields, &e.Key.Mismatch) }},
	{"in_flight", func(r *reader, at place, e *entry) { block(r, at, keyAnswerFields, &e.Key.InFlight) }},
	textField("replay_marker", func(e *entry) *string { return &e.Key.ReplayMarker }),
	wordField("replay", func(e *entry) *string { return &e.Key.Replay }, "stored", "current_state", "ignores_body"),
	noteField("note", "key"),
}

var keyAnswerFields = []field[KeyAnswer]{
	countField("status", 100, 599, func(a *KeyAnswer) *int { return &a.Status }),
	textField("code", func(a *KeyAnswer) *string { return &a.Code }),
}

func noteField(name, subject string) field[entry] {
	return field[entry]{name, func(r *reader, at place, e *entry) {
		if text, ok := r.text(at); ok {
			e.Notes[subject] = text
		}
	}}
}

func textsField[T any](name string, into func(*T) *[]string) field[T] {
	return field[T]{name, func(r *reader, at place, t *T) {
		for _, item := range r.items(at, "texts") {
			if text, ok := r.text(item); ok {
				*into(t) = append(*into(t), text)
			}
		}
	}}
}

// subjects are what an entry may call unverified, "lookup.lag" being the lag of lookup.
var subjects = []string{"key", "client_id", "marker", "lookup", "webhooks", "limits", "duplicate", "definitive", "not_applied", "max_processing"}

func (r *reader) checkEntry(e *entry) {
	switch {
	case e.tool == nil || e.Kind == "" || len(e.Strategies) == 0:
		r.refuse(e.at, "does not say what it is", "write kind:, strategies: and tool:")
		return
	case e.Confidence == "" || len(e.Sources) == 0 || e.checks == "":
		r.refuse(e.at, "does not say how it is known", "write confidence:, verified_at: and sources:")
		return
	case e.checks != "never":
		at, err := time.Parse(time.DateOnly, e.checks)
		if err != nil {
			r.refuse(e.at, "was verified at no date", "write verified_at: never, or the day as 2026-07-28")
		}
		e.VerifiedAt = at
	}
	key := e.tool.request.key
	switch {
	case key.declared() != (e.Key.Bound != ""):
		r.refuse(e.at, "has a provider_key without key facts, or the reverse", "write key: {scope:, bound:, replay:} and tool.provider_key:")
	case e.Key.Bound == "unknown" && key.retention > 0:
		r.refuse(e.at, "has a retention of which nobody says how long it is", "remove tool.provider_key.retention")
	case e.Key.Bound != "" && e.Key.Bound != "unknown" && key.retention == 0:
		r.refuse(e.at, "bounds a retention that it does not have", "write bound: unknown, or tool.provider_key.retention:")
	case key.retention > 0 && e.Unverified["key.retention"] != "":
		r.refuse(e.at, "rests on a retention that is not verified", "remove tool.provider_key.retention")
	}
	for name := range e.Unverified {
		subject, _, _ := strings.Cut(name, ".")
		known := false
		for _, s := range subjects {
			known = known || s == subject
		}
		if !known {
			r.refuse(e.at, fmt.Sprintf("calls %s unverified, which is no subject", name), "write one of "+strings.Join(subjects, ", "))
		}
	}
}

// inherit makes a tool out of a catalogue's, whose keys then give way to the ones that are written beside it.
func (r *reader) inherit(at place, t *tool) {
	text, ok := r.text(at)
	if !ok {
		return
	}
	name, operation, _ := strings.Cut(text, "/")
	p, err := shipped(name)
	if err != nil {
		remedy := "write one of " + strings.Join(providerNames(), ", ")
		if near := nearest(name, providerNames()); near != "" {
			remedy = "write " + near + "/... instead"
		}
		r.refuse(at, err.Error(), remedy)
		return
	}
	known, ok := p.tools[operation]
	if !ok {
		var names []string
		for _, op := range p.info.Operations {
			names = append(names, op.Name)
		}
		r.refuse(at, "the catalogue knows no "+text, "write one of "+strings.Join(names, ", "))
		return
	}
	own := *t
	*t = *known
	t.name, t.at, t.inherited = own.name, own.at, p.lookups
}
