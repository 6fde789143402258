// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

// Each role may do what those before it may, and the page says which it is.
func TestRoles(t *testing.T) {
	read, approve, resolve, admin := deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin
	for _, test := range []struct {
		role            string
		rights          []deed.Right
		deny, abandon   int
		offered, hidden []string
	}{
		{"viewer", []deed.Right{read}, 403, 403, nil, []string{"Deny this call", "Abandon it"}},
		{"approver", []deed.Right{read, approve}, 303, 403, []string{"Deny this call"}, []string{"Abandon it"}},
		{"operator", []deed.Right{read, approve, resolve}, 303, 303, []string{"Deny this call", "Abandon it"}, nil},
		{"admin", []deed.Right{read, approve, resolve, admin}, 303, 303, []string{"Deny this call", "Abandon it"}, nil},
	} {
		t.Run(test.role, func(t *testing.T) {
			r := newRig(t, func(o *console.Options) {
				o.Tokens = func(string) (deed.Principal, bool) {
					return deed.Principal{Tenant: "acme", Actor: "robin", Rights: test.rights}, true
				}
			})
			proposal := r.proposal(t)
			doubt := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":1}`, unknown()).Operation
			robin := r.as("any-token")
			proposed, doubted := robin.page("/op/"+string(proposal.ID)), robin.page("/op/"+string(doubt.ID))
			want(t, proposed, `robin</bdi> <span class="dim">`+test.role)
			want(t, proposed+doubted, test.offered...)
			for _, text := range test.hidden {
				if strings.Contains(proposed+doubted, text) {
					t.Errorf("%q is offered", text)
				}
			}
			if w := robin.post("/op/"+string(proposal.ID)+"/deny", url.Values{"digest": {string(proposal.Approval.Digest)}, "reason": {"no"}}); w.Code != test.deny {
				t.Errorf("denying: HTTP %d", w.Code)
			}
			form := url.Values{"outcome": {"abandon"}, "reason": {"nobody answers"}, "version": {strconv.FormatInt(doubt.Version, 10)}, "force": {"yes"}}
			if w := robin.post("/op/"+string(doubt.ID)+"/resolve", form); w.Code != test.abandon {
				t.Errorf("abandoning: HTTP %d: %s", w.Code, w.Body)
			}
		})
	}
}

// What pages load is part of the binary, with the licence of what others wrote.
func TestScriptsAndTheirLicenceArePartOfTheBinary(t *testing.T) {
	vera := newRig(t, nil).as("viewer-token")
	page := vera.page("/")
	for _, tag := range strings.Split(page, "<")[1:] {
		for _, at := range []string{`src="`, `href="`} {
			_, rest, found := strings.Cut(tag, at)
			if address, _, _ := strings.Cut(rest, `"`); found && !strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "#") {
				t.Errorf("the page names %s", address)
			}
		}
	}
	want(t, page, "/assets/htmx-4.0.1.min.js?", "/assets/console.js?", "/assets/console.css?")
	for path, holds := range map[string]string{"/assets/htmx-4.0.1.min.js": "var htmx=", "/assets/htmx-LICENSE.txt": "Zero-Clause BSD"} {
		if w := vera.get(path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), holds) {
			t.Errorf("%s: HTTP %d", path, w.Code)
		}
	}
}
