// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

// What went to one place, or shows at one, cannot be found at another: there
// its absence would prove nothing, and the next attempt would be a second effect.
func TestAnEffectIsLookedUpWhereItWent(t *testing.T) {
	for _, c := range []struct {
		name string
		// then is the rule that the attempt begins under, now that of another
		// process.
		then, now func(*deed.Rule)
		elsewhere string
	}{
		{"the same place", at("", "here", ""), at("", "here", ""), ""},
		{"no place is known", at("", "", ""), at("", "", ""), ""},
		{"another place", at("", "here", ""), at("", "there", ""), "it went to here, and look-ups now go to there"},
		{"another account", at("one", "here", ""), at("two", "here", ""), "it went to one, and look-ups now go to two"},
		{"the same account at another address", at("one", "here", ""), at("one", "there", ""), ""},
		{"it shows at the same place", at("", "here", "shop"), at("", "here", "shop"), ""},
		{"it shows at another place", at("", "here", "shop"), at("", "here", "copy of shop"), "its effect shows at shop, and look-ups now go to copy of shop"},
		{"the attempt did not say where it shows", at("", "here", ""), at("", "here", "shop"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := unsent(t, c.then)
			call := refund("12")
			call.Facts.UpstreamIdentity = "here"
			_, grant := d.claim(d.rt, call)
			d.id, d.grant = grant.Operation, grant
			d.settle(d.rt, grant, deed.Outcome{Kind: deed.OutcomeUnknown, Message: "the connection broke"})

			c.now(&d.rule)
			d.answer = nothing
			_, err := d.start(d.clock).Reconcile(context.Background(), operator, d.id)
			var refused *deed.RefusedError
			switch {
			case c.elsewhere == "" && err != nil:
				t.Errorf("it was not looked up: %v", err)
			case c.elsewhere != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.elsewhere)):
				t.Errorf("it was looked up, or refused for another reason: %v", err)
			}
			if asked := len(d.asked); asked > 0 != (c.elsewhere == "") {
				t.Errorf("the provider was asked %d times", asked)
			}
		})
	}
}

func at(account, sentTo, lookedUpAt string) func(*deed.Rule) {
	return func(rule *deed.Rule) { rule.Account, rule.SentTo, rule.LookedUpAt = account, sentTo, lookedUpAt }
}
