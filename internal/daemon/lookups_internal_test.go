// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// sees is a look-up that comes to the same whatever it is about.
type sees deed.VerdictKind

func (s sees) Name() string { return "sees" }

func (s sees) Probe(context.Context, deed.Inquest) (deed.Verdict, error) {
	return deed.Verdict{Kind: deed.VerdictKind(s), Complete: true}, nil
}

// Marks and look-up were configured anew while an operation was in doubt: what was
// written in the former place is not missed in the new one.
func TestAMarkThatWasWrittenElsewhereIsNotMissed(t *testing.T) {
	q := deed.Inquest{
		Operation: &deed.Operation{Tool: "shop/ticket.create", Arguments: []byte(`{"title":"A ticket","mark":"M23456789"}`)},
		Marks:     deed.Marks{Marker: "M23456789"},
	}
	for _, test := range []struct {
		into      string
		saw, want deed.VerdictKind
	}{
		{"/mark", deed.VerdictAbsent, deed.VerdictAbsent},
		{"/label", deed.VerdictAbsent, deed.VerdictUndetermined},
		{"/label", deed.VerdictFound, deed.VerdictFound},
	} {
		config, err := policy.Parse("deed.yaml", []byte("upstreams: {shop: {url: 'https://shop.example/mcp'}}\ntools: {shop/ticket.create: {marker: {into: "+test.into+"}}}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := asPlanted{sees(test.saw), config}.Probe(t.Context(), q)
		if err != nil || v.Kind != test.want {
			t.Errorf("with %s, a look-up that says %s counts as %s, %v; want %s", test.into, test.saw, v.Kind, err, test.want)
		}
	}
}
