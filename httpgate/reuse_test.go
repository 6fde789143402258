// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// tenants takes a bearer token TENANT/ACTOR for the principal.
func tenants(r *http.Request) (deed.Principal, bool) {
	tenant, actor, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "/")
	rights := []deed.Right{deed.RightCall}
	if actor == "reader" {
		rights = append(rights, deed.RightRead)
	}
	return deed.Principal{Tenant: deed.Tenant(tenant), Actor: deed.Actor(actor), Rights: rights}, ok
}

// What a key that was used once is worth elsewhere, by dialect: where keys are
// those of a path or an actor, others have operations of their own; in all other
// dialects it is taken.
func TestAKeyIsWorthWhatItsDialectSaysOnOtherRoutesAndMethodsAndForOtherTenants(t *testing.T) {
	const again, anew = "replay", "execute"
	taken := map[string]int{"ietf": 422, "stripe": 400, "acp": 422, "ucp": 409, "adcp": 409}
	own := []string{"acp", "adcp"} // each actor has keys of its own
	type use struct {
		name, method, path, amount, as string
		// decision, with the status code where it is a conflict's own.
		decision string
		apart    bool // in a dialect that scopes by path it is another operation
		actor    bool // in a dialect that scopes by actor it is another operation
	}
	uses := []use{
		{"the same request", "POST", "/a/it", "1", "acme/agent", again, false, false},
		{"another payload", "POST", "/a/it", "2", "acme/agent", "conflict", false, false},
		{"another path of the route", "POST", "/a/other", "1", "acme/agent", "conflict", true, false},
		{"another route", "POST", "/b/it", "1", "acme/agent", "conflict", true, false},
		{"another method", "PUT", "/a/it", "1", "acme/agent", "conflict", true, false},
		{"a method without a body by custom", "DELETE", "/a/it", "1", "acme/agent", "conflict", true, false},
		{"another tenant", "POST", "/a/it", "1", "other/agent", anew, false, false},
		{"another tenant's repeat", "POST", "/a/it", "1", "other/agent", again, false, false},
		{"another tenant's other payload", "POST", "/a/it", "2", "other/agent", "conflict", false, false},
		{"another actor who may not read", "POST", "/a/it", "1", "acme/stranger", "denied", false, true},
		{"another actor who may read", "POST", "/a/it", "1", "acme/reader", again, false, true},
	}
	for _, profile := range httpgate.Profiles() {
		t.Run(profile, func(t *testing.T) {
			var effects atomic.Int64
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"id":"made_%d"}`, effects.Add(1))
			})
			var routes []httpgate.Route
			for _, method := range []string{"POST", "PUT", "DELETE"} {
				for _, pattern := range []string{"/a/*", "/b/*"} {
					routes = append(routes, httpgate.Route{Method: method, Pattern: pattern, Profile: profile})
				}
			}
			d := &dialect{name: profile}
			d.rig = build(t, setup{handler: handler, routes: routes, edit: func(o *httpgate.Options) { o.Auth = tenants }})
			send := func(u use) got {
				header := []string{"Authorization", "Bearer " + u.as}
				body := fmt.Sprintf(`{"order":"o1","amount":%s}`, u.amount)
				if profile == "adcp" {
					body = fmt.Sprintf(`{"idempotency_key":%q,"order":"o1","amount":%s}`, d.key(1), u.amount)
				} else {
					header = append(header, "Idempotency-Key", d.key(1))
				}
				return d.send(u.method, u.path, body, header...)
			}
			first := send(uses[0])
			first.wants(t, 200, "Deed-Decision", anew)
			want := int64(1)
			for _, u := range uses {
				decision, status := u.decision, 200
				switch {
				case u.apart && profile == "acp", u.actor && slices.Contains(own, profile):
					decision = anew
				case decision == "conflict":
					status = taken[profile]
				case decision == "denied":
					status = 403
				}
				if decision == anew {
					want++
				}
				g := send(u)
				if g.status != status || g.header.Get("Deed-Decision") != decision || effects.Load() != want {
					t.Errorf("%s: %d %s after %d effects, want %d %s after %d: %s", u.name, g.status, g.header.Get("Deed-Decision"), effects.Load(), status, decision, want, g.body)
				}
				if foreign := u.as != "acme/agent" && u.as != "acme/reader"; foreign && g.shows(first) {
					t.Errorf("%s: the answer tells of the other's operation: %s", u.name, g.body)
				}
			}
		})
	}
}

// shows reports whether an answer names what another one made.
func (g got) shows(other got) bool {
	return strings.Contains(g.body, `"made_1"`) || strings.Contains(g.body+g.header.Get("Deed-Operation"), other.header.Get("Deed-Operation"))
}

// A dialect that scopes by path still has one operation for each path.
func TestPathsThatAreOneAreOneOperation(t *testing.T) {
	var effects atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		effects.Add(1)
		_, _ = io.WriteString(w, "done")
	})
	r := build(t, setup{handler: handler, routes: []httpgate.Route{{Method: "POST", Pattern: "/a/*", Profile: "acp"}}})
	r.send("POST", "/a/it", order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "execute")
	r.send("POST", "/a/it?page=1", order1, "Idempotency-Key", key).wants(t, 422, "Deed-Decision", "conflict")
	r.send("POST", "/a/it", order1, "Idempotency-Key", key).wants(t, 200, "Deed-Decision", "replay")
	if effects.Load() != 1 {
		t.Errorf("%d effects", effects.Load())
	}
}
