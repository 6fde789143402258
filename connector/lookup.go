// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"net/http"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
)

// Consistency says what a look-up that finds nothing is worth.
type Consistency string

const (
	// Strong: the read shows every effect that the provider has accepted.
	Strong Consistency = "strong"
	// Index: the read shows it after a while; see Lag.
	Index Consistency = "index"
)

// lookup is a read that finds effects. It is made by Load and never changes.
type lookup struct {
	name, description string
	request           request
	input             []byte
	// items is the list in the answer, wholeAnswer where the answer is the list; empty: the answer itself is the one item.
	items string
	match match
	id    source
	url   source
	pages pages
	// notFound are answers that mean that there is no such thing, errors places that are empty or missing in an answer that counts.
	notFound    []rule
	errors      []string
	consistency Consistency
	lag         time.Duration
	timeout     time.Duration
	at          place
}

const wholeAnswer = "whole"

// match is what an item must hold to be a match: at token the wanted text, whole or within a longer one. Of a header, for look-ups without a
// body.
type match struct {
	token, header string
	equals        *template
	contains      *template
}

// pages says how a list goes on. Exactly one way is set where there is more than one page.
type pages struct {
	// param takes what from points to ("-1" is the last element), while more, if it is set, says true.
	param, from, more string
	// number: param counts pages from first on, until one is empty.
	number bool
	first  int
	// link: the Link header's rel="next" (RFC 8288), of the same origin.
	link bool
	max  int
}

var lookupFields = append(requestFields(func(l *lookup) *request { return &l.request }), []field[lookup]{
	{"body", func(r *reader, at place, l *lookup) { r.body(at, &l.request) }},
	textField("description", func(l *lookup) *string { return &l.description }),
	{"input", func(r *reader, at place, l *lookup) { l.input = r.schema(at) }},
	{"items", func(r *reader, at place, l *lookup) {
		if text, ok := at.node.(*ast.StringNode); ok && text.Value == wholeAnswer {
			l.items = wholeAnswer
			return
		}
		l.items, _ = r.pointer(at)
	}},
	{"match", func(r *reader, at place, l *lookup) { r.match(at, &l.match) }},
	{"id", func(r *reader, at place, l *lookup) { r.source(at, &l.id) }},
	{"url", func(r *reader, at place, l *lookup) { r.source(at, &l.url) }},
	{"pages", func(r *reader, at place, l *lookup) { r.pages(at, &l.pages) }},
	{"not_found", func(r *reader, at place, l *lookup) { l.notFound = r.absences(at) }},
	{"errors", func(r *reader, at place, l *lookup) { l.errors = r.pointerList(at) }},
	wordField("consistency", func(l *lookup) *Consistency { return &l.consistency }, Strong, Index),
	durationField("lag", func(l *lookup) *time.Duration { return &l.lag }),
	durationField("timeout", func(l *lookup) *time.Duration { return &l.timeout }),
}...)

func (r *reader) match(at place, m *match) {
	before := len(r.found)
	block(r, at, []field[match]{
		{"token", func(r *reader, at place, m *match) {
			text, ok := r.text(at)
			if name, isHeader := strings.CutPrefix(text, "header:"); ok && isHeader {
				m.header = name
				return
			}
			m.token, _ = r.pointer(at)
		}},
		{"equals", func(r *reader, at place, m *match) { m.equals = r.wanted(at) }},
		{"contains", func(r *reader, at place, m *match) { m.contains = r.wanted(at) }},
	}, m)
	switch {
	case len(r.found) > before:
	case m.token == "" && m.header == "":
		r.refuse(at, "names no place to look at", "write token: and a pointer into one item, or header:NAME")
	case (m.equals == nil) == (m.contains == nil):
		r.refuse(at, "does not say what must stand there", "write one of equals: and contains:, such as equals: \"{marker}\"")
	}
}

// wanted is a text with a place: a match against a constant would take other operations' effects for ours.
func (r *reader) wanted(at place) *template {
	text, ok := r.text(at)
	if !ok {
		return nil
	}
	t := r.template(at, text, true)
	if len(t.pointers) == 0 {
		r.refuse(at, "is the same for every operation, so that it would find the effects of others", "write {marker}, {client_id} or {provider_key}")
	}
	return t
}

func (r *reader) pages(at place, p *pages) {
	p.first, p.max = 1, 20
	var style string
	before := len(r.found)
	block(r, at, []field[pages]{
		wordField("style", func(*pages) *string { return &style }, "one", "cursor", "number", "link"),
		textField("param", func(p *pages) *string { return &p.param }),
		{"from", func(r *reader, at place, p *pages) { p.from, _ = r.pointer(at) }},
		pointerField("more", func(p *pages) *string { return &p.more }),
		countField("first", 0, 1, func(p *pages) *int { return &p.first }),
		countField("max", 1, 1000, func(p *pages) *int { return &p.max }),
	}, p)
	p.number, p.link = style == "number", style == "link"
	switch {
	case len(r.found) > before:
	case style == "":
		r.refuse(at, "does not say how pages follow", "write style: cursor, number, link or, where one answer always holds everything, one")
	case style == "one":
		*p = pages{max: 1}
	case style != "link" && p.param == "":
		r.refuse(at, "does not say which parameter asks for the next page", "write param: and its name")
	case style == "cursor" && p.from == "":
		r.refuse(at, "does not say where the cursor stands", "write from: and a pointer into the answer, such as /next_cursor or /data/-1/id")
	case style != "cursor" && (p.from != "" || p.more != ""):
		r.refuse(at, "has from or more, which only a cursor has", "remove them")
	}
}

// absences reads what means that there is no such thing: statuses, and rules for providers that say so in a body.
func (r *reader) absences(at place) []rule {
	var list []rule
	for _, item := range r.items(at, "statuses and rules") {
		if _, number := item.node.(*ast.IntegerNode); number {
			list = append(list, rule{status: r.statuses(item)})
			continue
		}
		var c rule
		before := len(r.found)
		block(r, item, ruleFields, &c)
		if len(r.found) == before && c.at == "" && c.text == nil {
			r.refuse(item, "does not say what such an answer holds", "write at: or text:, or a status")
		}
		list = append(list, c)
	}
	return list
}

// finishLookup checks what the keys of one look-up say together.
func (r *reader) finishLookup(l *lookup) {
	q := &l.request
	switch {
	case q.path == nil:
		r.refuse(l.at, "has no path", "write path: and the path below base_url")
		return
	case q.method == "":
		q.method = http.MethodGet
	case q.method != http.MethodGet && q.method != http.MethodHead && q.method != http.MethodPost:
		r.refuse(l.at, "uses "+q.method+", which does not read", "write method: GET, HEAD or, for a search, POST")
	}
	if l.id.empty() {
		r.refuse(l.at, "does not say what it found", "write id: and a pointer into one item")
	}
	if l.items == "" && l.pages != (pages{}) {
		r.refuse(l.at, "has pages and no items", "write items: and a pointer to the list")
	}
	if l.items != "" && l.pages == (pages{}) {
		r.refuse(l.at, "lists items and does not say how its pages follow, so that a cut list would look whole", "write pages: {style: cursor, ...} or, where one answer always holds everything, {style: one}")
	}
	if l.match.header != "" && l.items != "" {
		r.refuse(l.at, "matches a header, which the items of a list do not have", "write token: and a pointer into one item")
	}
	switch {
	case l.consistency == "":
		r.refuse(l.at, "does not say what its \"not found\" is worth", "write consistency: strong, or consistency: index and lag:")
	case l.consistency == Index && l.lag == 0:
		r.refuse(l.at, "reads an index and has no lag", "write lag: and the worst time after which the index shows an effect")
	}
	if q.graphql && l.errors == nil {
		l.errors = []string{"/errors"}
	}
	if l.input == nil {
		planted := *q
		for _, t := range []*template{l.match.equals, l.match.contains} {
			if t != nil {
				planted.query = append(planted.query[:len(planted.query):len(planted.query)], named{"", t})
			}
		}
		l.input = schemaOf(&planted)
	}
}

// Look-ups are tools that only read, whatever their method is.
func (l *lookup) effect() deed.EffectClass { return deed.EffectReadOnly }
