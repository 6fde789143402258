// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"errors"
	"github.com/google/go-cmp/cmp"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// Whatever there may be of what a claim asks for, it sees the same as a claim
// that asks for a second key, which is read piece by piece.
func TestAClaimSeesWhatIsThereByWhicheverWayItIsRead(t *testing.T) {
	base := newBenchOperation(1)
	begun := base.begin.Put[0]
	otherDigest := func(name string) deed.Digest { return deed.Digest(benchDigest(name)) }
	conflict := deed.Event{
		ID: "ev_01000000000000000000000099", Tenant: benchTenant, OperationID: begun.ID, At: begun.CreatedAt,
		Name: deed.EventName(deed.Conflict), Tool: begun.Tool, Fingerprint: deed.Fingerprint(otherDigest("refused")),
	}
	active := func(deed.View) (deed.Change, error) { return base.begin, nil }
	other := func(change func(*deed.Scope)) deed.Scope {
		scope := deed.Scope{
			Tenant: benchTenant, Tool: begun.Tool, FingerprintRules: benchRules,
			Keys:         []deed.Key{{Family: deed.FamilyOperation, Text: "another", Generation: 1, Provenance: deed.ProvenanceRuntime}},
			Fingerprints: []deed.Fingerprint{deed.Fingerprint(otherDigest("another"))},
			Matters:      []deed.Matter{`["another"]`},
		}
		change(&scope)
		return scope
	}
	for _, c := range []struct {
		name  string
		scope deed.Scope
		sees  func(deed.View) bool
	}{
		{"nothing but the rules in force", other(func(*deed.Scope) {}), func(v deed.View) bool {
			return v.Operation == nil && len(v.Twins)+len(v.Refused)+len(v.OtherRules) == 0
		}},
		{"no matter is asked for", other(func(s *deed.Scope) { s.Matters = nil }), func(v deed.View) bool { return len(v.Twins) == 0 }},
		{"the empty matter", other(func(s *deed.Scope) { s.Matters = []deed.Matter{""} }), func(v deed.View) bool { return len(v.Twins) == 0 }},
		{"the key", other(func(s *deed.Scope) { s.Keys = []deed.Key{begun.Key} }), func(v deed.View) bool { return v.Operation != nil }},
		{"the fingerprint", other(func(s *deed.Scope) { s.Fingerprints = []deed.Fingerprint{begun.Fingerprint} }), func(v deed.View) bool { return len(v.Twins) == 1 }},
		{"the matter", other(func(s *deed.Scope) { s.Matters = []deed.Matter{begun.Matter} }), func(v deed.View) bool { return len(v.Twins) == 1 }},
		{"a refused fingerprint", other(func(s *deed.Scope) { s.Fingerprints = []deed.Fingerprint{conflict.Fingerprint} }), func(v deed.View) bool { return len(v.Refused) == 1 }},
		{"smaller rules", other(func(s *deed.Scope) { s.FingerprintRules = "sha256:0" }), func(v deed.View) bool { return len(v.OtherRules) == 1 }},
		{"greater rules", other(func(s *deed.Scope) {
			s.FingerprintRules = "sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
		}), func(v deed.View) bool { return len(v.OtherRules) == 1 }},
		{"another tenant's", other(func(s *deed.Scope) { s.Tenant, s.Keys = "globex", []deed.Key{begun.Key} }), func(v deed.View) bool { return v.Operation == nil }},
		{"another tool's rules", other(func(s *deed.Scope) { s.Tool = "payments/charge" }), func(v deed.View) bool { return v.Active == "" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := open(t, storetest.NewClock(begun.CreatedAt))
			ctx := context.WithoutCancel(t.Context())
			_, err := ledger.Transact(ctx, deed.Scope{Tenant: benchTenant}, active)
			rules, settingErr := ledger.Setting(ctx, deed.ActiveSetting(begun.Tool), func([]byte) []byte { return []byte(benchRules) })
			if err := errors.Join(err, settingErr, ledger.Append(ctx, []deed.Event{conflict}, deed.Durable)); err != nil {
				t.Fatal(err)
			}
			whole := c.scope
			whole.Keys = append([]deed.Key{{Family: deed.FamilyOperation, Text: "nobody's", Generation: 1}}, c.scope.Keys...)
			var views [2]deed.View
			for i, scope := range []deed.Scope{c.scope, whole} {
				if views[i], err = ledger.Transact(ctx, scope, func(deed.View) (deed.Change, error) { return deed.Change{}, nil }); err != nil {
					t.Fatal(err)
				}
				loaded, err := ledger.Load(ctx, scope)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(views[i], loaded); diff != "" {
					t.Errorf("a transaction and a look differ:\n%s", diff)
				}
			}
			if diff := cmp.Diff(views[1], views[0]); diff != "" {
				t.Errorf("the ways differ:\n%s", diff)
			}
			if !c.sees(views[0]) || c.scope.Tool == begun.Tool && c.scope.Tenant == benchTenant && views[0].Active != deed.Digest(rules) {
				t.Errorf("the claim saw %+v", views[0])
			}
		})
	}
}
