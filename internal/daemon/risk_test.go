// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestTheConsoleSaysWhyADecisionTakesCare signs in and opens a proposal.
func TestTheConsoleSaysWhyADecisionTakesCare(t *testing.T) {
	for name, test := range map[string]struct {
		approval any
		more     map[string]any
		say      string
	}{
		"its server calls it destructive": {"required", nil, "destroys or overwrites something"},
		"two must agree":                  {map[string]any{"quorum": 2}, map[string]any{"effect": "idempotent"}, "2 people must agree to it"},
		"it costs something":              {"required", map[string]any{"budget": map[string]any{"name": "shop", "amount": "/amount", "currency": "EUR"}}, "it spends money of the budget shop"},
		"the configuration says it":       {map[string]any{"risk": "high"}, map[string]any{"effect": "idempotent"}, "the configuration says so"},
		"the configuration lowers it":     {map[string]any{"risk": "low", "quorum": 2}, nil, "the configuration says so"},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			more := approving()
			tool := map[string]any{"approval": test.approval}
			for key, value := range test.more {
				tool[key] = value
			}
			more["tools"] = map[string]any{"shop/pay.charge": tool}
			more["budgets"] = map[string]any{"shop": map[string]any{"limit": 200, "currency": "EUR"}}
			d := boot(t, configuration(t, t.TempDir(), more))
			defer func() {
				if err := d.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			id := charge(t, d, agentToken).Operation.ID
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			person := http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
			res, err := person.PostForm("http://"+d.Address()+"/login", url.Values{"token": {bossToken}, "next": {"/op/" + id}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			page, err := io.ReadAll(res.Body)
			if err != nil || !strings.Contains(string(page), test.say) {
				t.Errorf("HTTP %d, %v; %q is missing in:\n%s", res.StatusCode, err, test.say, page)
			}
		})
	}
}
