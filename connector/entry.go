// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// Entry returns what the description of a tool says about its guarding, as a fragment of a tool entry of deed.yaml: so that provider_key,
// marker and reconcile need not be written twice.
func (c *Connector) Entry(name string) ([]byte, bool) {
	if t := c.tool(name); t != nil {
		return t.entry(c.lookups, nil), true
	}
	if l := c.lookup(name); l != nil {
		return []byte("effect: read_only\n"), true
	}
	return nil, false
}

// entry writes the fragment; known is what the catalogue says of the tool. A key whose retention nobody states is left out: presented too late,
// it would be a second request.
func (t *tool) entry(lookups []*lookup, known *OperationInfo) []byte {
	var out bytes.Buffer
	if known != nil {
		fmt.Fprintf(&out, "# %s: %s, %s", known.Name, known.Kind, known.Confidence)
		if known.VerifiedAt.IsZero() {
			out.WriteString(", never checked against the live provider\n")
		} else {
			fmt.Fprintf(&out, ", checked on %s\n", known.VerifiedAt.Format(time.DateOnly))
		}
		for _, subject := range slices.Sorted(maps.Keys(known.Unverified)) {
			fmt.Fprintf(&out, "# unverified: %s: %s\n", subject, known.Unverified[subject])
		}
	}
	fmt.Fprintf(&out, "effect: %s\n", t.effect)
	if key := t.request.key; key.declared() {
		t.keyEntry(&out, key)
	}
	switch m := t.marker; {
	case m.into != "":
		fmt.Fprintf(&out, "marker: {into: %s}\n", quotedYAML(m.into))
	case m.add != "" && m.template != "":
		fmt.Fprintf(&out, "marker: {append: %s, template: %s}\n", quotedYAML(m.add), quotedYAML(m.template))
	case m.add != "":
		fmt.Fprintf(&out, "marker: {append: %s}\n", quotedYAML(m.add))
	}
	if t.clientID.into != "" {
		fmt.Fprintf(&out, "client_id: {into: %s, alphabet: %s}\n", quotedYAML(t.clientID.into), orWord(t.clientID.format, alphabetUUID4))
	}
	if t.maxProcessing > 0 {
		fmt.Fprintf(&out, "max_processing: %s\n", short(t.maxProcessing))
	}
	if t.receipt.system != "" {
		fmt.Fprintf(&out, "receipt: {system: %s}\n", quotedYAML(t.receipt.system))
	}
	if t.reconcile.lookup != "" {
		t.reconcileEntry(&out, lookups)
	}
	return out.Bytes()
}

// keyEntry declares the key to the policy, which mints and keeps it; the connector itself puts it where the provider reads it.
func (t *tool) keyEntry(out *bytes.Buffer, key carrier) {
	where := "meta: deed/provider-key"
	switch {
	case key.header != "":
		where = "header: " + quotedYAML(key.header)
	case key.graphql == "" && key.body != "" && t.request.rest:
		where = "into: " + quotedYAML(key.body)
	}
	if key.retention == 0 {
		out.WriteString("# the provider takes a key, and for how long it keeps one is not known: a connector sends one, and it is never presented again\n")
		return
	}
	alphabet := key.alphabet
	if alphabet == alphabetASCII || alphabet == alphabetDNS1123 {
		alphabet = alphabetHex
	}
	fmt.Fprintf(out, "provider_key: {%s, alphabet: %s, max: %d, retention: %s", where, alphabet, key.max, short(key.retention))
	if key.margin > 0 {
		fmt.Fprintf(out, ", margin: %s", short(key.margin))
	}
	out.WriteString("}\n")
}

// short writes a duration without what is nothing.
func short(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "m0s")
	if text != d.String() {
		text += "m"
	}
	if hours, whole := strings.CutSuffix(text, "h0m"); whole {
		text = hours + "h"
	}
	return text
}

// reconcileEntry asks the look-up as a read-only tool of the same upstream.
func (t *tool) reconcileEntry(out *bytes.Buffer, lookups []*lookup) {
	i := slices.IndexFunc(lookups, func(l *lookup) bool { return l.name == t.reconcile.lookup })
	if i < 0 {
		return
	}
	mark := "marker"
	var args []string
	for _, w := range t.reconcile.with {
		for _, m := range markPlaces {
			if slices.Contains(w.value.pointers, m) {
				mark = m[1:]
			}
		}
		args = append(args, w.name+": "+quotedYAML(w.value.written()))
	}
	fmt.Fprintf(out, "reconcile: {tool: ./%s, args: {%s}, found: %s, id: item.id", t.reconcile.lookup, strings.Join(args, ", "),
		quotedYAML("result.structuredContent.items.filter(i, i.token == "+mark+")"))
	if lookups[i].lag > 0 {
		fmt.Fprintf(out, ", lag: %s", short(lookups[i].lag))
	}
	if t.reconcile.giveUp > 0 {
		fmt.Fprintf(out, ", give_up: %s", short(t.reconcile.giveUp))
	}
	out.WriteString("}\n")
}

// written is the template as an entry of deed.yaml writes it: marks by their names, arguments as args./pointer.
func (t *template) written() string {
	var out strings.Builder
	for i, literal := range t.literals {
		out.WriteString(literal)
		if i < len(t.pointers) {
			name := t.pointers[i]
			if slices.Contains(markPlaces, name) {
				name = name[1:]
			} else {
				name = "args." + name
			}
			out.WriteString("{" + name + "}")
		}
	}
	return out.String()
}

func orWord(word, usual alphabet) alphabet {
	if word == "" {
		return usual
	}
	return word
}

// quotedYAML is a text in double quotes, which YAML reads as JSON does.
func quotedYAML(text string) string { return string(quoted(text)) }

// Effect is the effect class of a tool or look-up, empty for an unknown one.
func (c *Connector) Effect(name string) deed.EffectClass {
	if t := c.tool(name); t != nil {
		return t.effect
	}
	if l := c.lookup(name); l != nil {
		return l.effect()
	}
	return ""
}
