// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/deed-run/deed"
)

// markPlaces are what the places of a look-up's match may be: what this gateway itself planted.
var markPlaces = []string{"/marker", "/client_id", "/provider_key"}

// Probe looks an operation of one of the connector's tools up, by the look-up that the tool's reconcile names. It implements
// [deed.Reconciler]; tools without a look-up are undetermined, and so is an operation that went to another account.
func (c *Connector) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	v := deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "lookup"}
	name := q.Operation.Tool.Name()
	t := c.tool(name)
	if t == nil || t.reconcile.lookup == "" {
		v.Evidence = "there is no look-up for " + name
		return v, nil
	}
	v.Strategy = "lookup:" + t.reconcile.lookup
	if at := q.Operation.UpstreamIdentity; at != "" && at != c.Account() {
		v.Evidence = "it went to " + at + ", and look-ups go to " + c.Account()
		return v, nil
	}
	findings, err := c.Find(ctx, name, q.Marks, q.Operation.Arguments)
	if err != nil {
		return v, err
	}
	v.Complete = true
	v.Evidence = fmt.Sprintf("%d matches in %d pages, %s read", len(findings.Matches), findings.Pages, findings.Consistency)
	for _, m := range findings.Matches {
		match := deed.Match{RemoteID: m.ID, URL: m.URL, Token: m.Token}
		if len(m.Item) > 0 {
			match.Result = answer{status: 200, body: m.Item, json: true}.shown(false)
		}
		v.Matches = append(v.Matches, match)
	}
	switch len(v.Matches) {
	case 0:
		v.Kind = deed.VerdictAbsent
	case 1:
		v.Kind = deed.VerdictFound
	default:
		v.Kind = deed.VerdictMany
	}
	return v, nil
}

// Find runs the look-up of a tool for the operation that the marks and the frozen arguments belong to. Every match carries the mark.
func (c *Connector) Find(ctx context.Context, name string, marks deed.Marks, args []byte) (Findings, error) {
	t := c.tool(name)
	if t == nil || t.reconcile.lookup == "" {
		return Findings{}, fmt.Errorf("tool %s has no look-up", name)
	}
	own := arguments(args)
	for i, mark := range []string{marks.Marker, marks.ClientID, marks.ProviderKey} {
		// An argument of the caller never stands in for a mark that was not planted.
		value := []byte("null")
		if mark != "" {
			value = quoted(mark)
		}
		with, err := setMember(own, markPlaces[i], value)
		if err != nil {
			return Findings{}, fmt.Errorf("look-up %s: %w", t.reconcile.lookup, err)
		}
		own = with
	}
	given := tree{names: []string{}}
	for _, w := range t.reconcile.with {
		given.names, given.parts = append(given.names, w.name), append(given.parts, tree{text: w.value})
	}
	var out bytes.Buffer
	if _, err := given.fill(&out, own); err != nil {
		return Findings{}, fmt.Errorf("look-up %s: %w", t.reconcile.lookup, err)
	}
	return c.look(ctx, c.lookup(t.reconcile.lookup), out.Bytes())
}

// resolve settles an answer that says "it exists already": ours only if exactly one thing at the provider carries our mark.
func (c *Connector) resolve(ctx context.Context, t *tool, out deed.Outcome, marks deed.Marks, args []byte) deed.Outcome {
	if t.reconcile.lookup == "" || marks == (deed.Marks{}) {
		return out
	}
	findings, err := c.Find(ctx, t.name, marks, args)
	if err != nil || len(findings.Matches) != 1 {
		return out
	}
	m := findings.Matches[0]
	return deed.Outcome{
		Kind: deed.OutcomeSuccess, Result: answer{status: 200, body: m.Item, json: len(m.Item) > 0}.shown(false),
		Receipt: deed.Receipt{
			RemoteSystem: t.receipt.system, RemoteID: m.ID, RemoteURL: m.URL,
			Established: deed.EstablishedFound, EstablishedBy: deed.ByReconcile + "lookup:" + t.reconcile.lookup,
		},
	}
}

// probes checks that a tool's look-up compares what was planted, and nothing that a caller could say.
func (r *reader) probes(t *tool, l *lookup) {
	if l.match == (match{}) {
		r.refuse(t.at, "is found again by look-up "+l.name+", which does not match what was planted", "give that look-up match:")
		return
	}
	planted := map[string]bool{"/marker": t.marker != (mark{}), "/client_id": t.clientID != (mark{}), "/provider_key": t.request.key.declared()}
	given := func(name string) *template {
		for _, w := range t.reconcile.with {
			if w.name == name {
				return w.value
			}
		}
		return nil
	}
	for _, pointer := range l.request.places() {
		name := firstName(pointer)
		if given(name) == nil && slices.Contains(markPlaces, pointer) {
			t.reconcile.with = append(t.reconcile.with, named{name, &template{literals: []string{"", ""}, pointers: []string{pointer}}})
		}
	}
	for _, wanted := range []*template{l.match.equals, l.match.contains} {
		if wanted == nil {
			continue
		}
		for _, pointer := range wanted.pointers {
			name := firstName(pointer)
			value := given(name)
			if value == nil && slices.Contains(markPlaces, pointer) {
				value = &template{literals: []string{"", ""}, pointers: []string{pointer}}
				t.reconcile.with = append(t.reconcile.with, named{name, value})
			}
			if value == nil || len(value.pointers) == 0 || slices.ContainsFunc(value.pointers, func(p string) bool { return !planted[p] }) {
				r.refuse(t.at, "is matched by look-up "+l.name+" with {"+name+"}, which this tool does not plant",
					"match {marker}, {client_id} or {provider_key}, and write marker:, client_id: or provider_key: in this tool")
				return
			}
		}
	}
}

var _ deed.Reconciler = (*Connector)(nil)
