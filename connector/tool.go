// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"net/http"
	"time"

	"github.com/deed-run/deed"
)

// tool is one operation of an API. It is made by Load and never changes.
type tool struct {
	name, description string
	effect            deed.EffectClass
	request           request
	input             []byte // JSON schema

	receipt receipt
	// success must hold for a 2xx to be one, where it is set.
	success *rule
	// errors are places that are empty or missing in a success.
	errors []string
	// refusals are tried in order: failed, definitive, not_applied, then what the catalogue says; duplicates before them.
	refusals   []rule
	duplicates []rule
	items      *items

	clientID      mark
	marker        mark
	maxProcessing time.Duration
	reconcile     reconcile

	at place
	// inherited are the look-ups of the catalogue that the tool may name.
	inherited []*lookup
}

// receipt says where a success names what it made.
type receipt struct {
	system  string
	id, url source
	require bool
}

// items says where the answer to a batch tells of its members.
type items struct {
	// at is the list in the answer, sent the list in the arguments: item n of the one tells of item n of the other.
	at, sent string
	// id and error are pointers into one element; an element with an error there, or whose ok is not true, was refused.
	id, fault, ok string
}

// mark says where something by which the effect is found again goes into the arguments.
type mark struct {
	into, add, template string
	format              alphabet
}

// reconcile names the look-up that finds an effect, and what it is given.
type reconcile struct {
	lookup string
	with   []named
	giveUp time.Duration
}

// toolFields is the grammar of a tool, without provider, which the catalogue itself does not have.
var toolFields = append(requestFields(func(t *tool) *request { return &t.request }), []field[tool]{
	{"body", func(r *reader, at place, t *tool) { r.body(at, &t.request) }},
	textField("description", func(t *tool) *string { return &t.description }),
	wordField("effect", func(t *tool) *deed.EffectClass { return &t.effect }, deed.EffectReadOnly, deed.EffectIdempotent, deed.EffectNonIdempotent),
	{"input", func(r *reader, at place, t *tool) { t.input = r.schema(at) }},
	{"receipt", func(r *reader, at place, t *tool) { block(r, at, receiptFields, &t.receipt) }},
	{"success", func(r *reader, at place, t *tool) {
		var c rule
		block(r, at, ruleFields, &c)
		if c.at == "" && c.text == nil {
			r.refuse(at, "says nothing about a success", "write at: and is:, such as {at: /ok, is: \"true\"}")
		}
		t.success = &c
	}},
	{"errors", func(r *reader, at place, t *tool) { t.errors = r.pointerList(at) }},
	{"duplicate", func(r *reader, at place, t *tool) { t.duplicates = r.duplicates(at) }},
	{"not_applied", func(r *reader, at place, t *tool) {
		t.refusals = append(r.rules(at, func(c *rule) { c.final = false }), t.refusals...)
	}},
	{"definitive", func(r *reader, at place, t *tool) {
		t.refusals = append(r.rules(at, func(c *rule) { c.final = true }), t.refusals...)
	}},
	{"failed", func(r *reader, at place, t *tool) { t.refusals = append(r.rules(at, nil), t.refusals...) }},
	{"items", func(r *reader, at place, t *tool) {
		t.items = &items{}
		before := len(r.found)
		block(r, at, itemFields, t.items)
		if len(r.found) == before && (t.items.at == "" || t.items.id == "" && t.items.ok == "" && t.items.fault == "") {
			r.refuse(at, "does not say how an item was taken", "write at: and id:, and error: or ok: where refused items are listed too")
		}
	}},
	{"provider_key", func(r *reader, at place, t *tool) { r.carrier(at, &t.request) }},
	{"client_id", func(r *reader, at place, t *tool) { block(r, at, clientIDFields, &t.clientID) }},
	{"marker", func(r *reader, at place, t *tool) { r.marker(at, &t.marker) }},
	durationField("max_processing", func(t *tool) *time.Duration { return &t.maxProcessing }),
	{"reconcile", func(r *reader, at place, t *tool) {
		block(r, at, reconcileFields, &t.reconcile)
		if t.reconcile.lookup == "" {
			r.refuse(at, "names no look-up", "write lookup: and one of lookups:")
		}
	}},
}...)

// duplicates are matched by text or code, and prove nothing by themselves: see [Connector.Call].
func (r *reader) duplicates(at place) []rule {
	var list []rule
	for _, item := range r.items(at, "rules") {
		var c rule
		before := len(r.found)
		block(r, item, ruleFields, &c)
		switch {
		case len(r.found) > before:
		case c.final || c.retryAfter > 0:
			r.refuse(item, "a duplicate is neither final nor tried again", "remove final and retry_after")
		case len(c.status) == 0 && c.at == "" && c.text == nil:
			r.refuse(item, "fits every answer", "write status:, at: or text:")
		default:
			list = append(list, c)
		}
	}
	return list
}

var receiptFields = []field[receipt]{
	textField("system", func(c *receipt) *string { return &c.system }),
	{"id", func(r *reader, at place, c *receipt) { r.source(at, &c.id) }},
	{"url", func(r *reader, at place, c *receipt) { r.source(at, &c.url) }},
	truthField("require", func(c *receipt) *bool { return &c.require }),
}

var itemFields = []field[items]{
	pointerField("at", func(i *items) *string { return &i.at }),
	pointerField("sent", func(i *items) *string { return &i.sent }),
	pointerField("id", func(i *items) *string { return &i.id }),
	pointerField("error", func(i *items) *string { return &i.fault }),
	pointerField("ok", func(i *items) *string { return &i.ok }),
}

var clientIDFields = []field[mark]{
	pointerField("into", func(m *mark) *string { return &m.into }),
	wordField("format", func(m *mark) *alphabet { return &m.format }, alphabets...),
}

var markerFields = []field[mark]{
	pointerField("into", func(m *mark) *string { return &m.into }),
	pointerField("append", func(m *mark) *string { return &m.add }),
	textField("template", func(m *mark) *string { return &m.template }),
}

func (r *reader) marker(at place, m *mark) {
	before := len(r.found)
	block(r, at, markerFields, m)
	switch {
	case len(r.found) > before:
	case (m.into == "") == (m.add == ""):
		r.refuse(at, "must say one place for the marker", "write into: or append: and a pointer into the arguments")
	case m.template != "" && !bytes.Contains([]byte(m.template), []byte("{marker}")):
		r.refuse(at, "has a template without {marker}", "write {marker} where the marker goes")
	}
}

var reconcileFields = []field[reconcile]{
	textField("lookup", func(c *reconcile) *string { return &c.lookup }),
	{"with", func(r *reader, at place, c *reconcile) { c.with = r.named(at) }},
	durationField("give_up", func(c *reconcile) *time.Duration { return &c.giveUp }),
}

// finish checks what the keys of one tool say together.
func (r *reader) finish(t *tool) {
	q := &t.request
	if q.path == nil {
		r.refuse(t.at, "has no path", "write path: and the path below base_url, such as /v1/refunds")
		return
	}
	if q.method == "" {
		r.refuse(t.at, "has no method", "write method: POST or another")
		return
	}
	reads := q.method == http.MethodGet || q.method == http.MethodHead
	switch {
	case t.effect == "" && reads:
		t.effect = deed.EffectReadOnly
	case t.effect == "":
		t.effect = deed.EffectNonIdempotent
	}
	if t.effect == deed.EffectReadOnly && (q.key.declared() || len(t.duplicates) > 0 || t.items != nil) {
		r.refuse(t.at, "is read_only and says how its effect is told", "remove provider_key, duplicate and items, or write another effect")
	}
	if t.reconcile.lookup != "" && t.marker == (mark{}) && t.clientID == (mark{}) && !q.key.declared() {
		r.refuse(t.at, "has a look-up and plants nothing that it could find", "write marker:, client_id: or provider_key:")
	}
	if t.receipt.require && t.receipt.id.empty() {
		r.refuse(t.at, "requires a receipt's id and names none", "write id: and a pointer, such as /id")
	}
	if q.graphql && t.errors == nil {
		t.errors = []string{"/errors"} // GraphQL over HTTP answers 200 to what it refuses
	}
	if t.input == nil {
		t.input = schemaOf(q, t.clientID.into, t.marker.into)
	}
}
