// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

func TestACallWithoutTenantActorOrToolIsDeniedByName(t *testing.T) {
	for field, drop := range map[string]func(*deed.Call){
		"Principal.Tenant": func(c *deed.Call) { c.Principal.Tenant = "" },
		"Principal.Actor":  func(c *deed.Call) { c.Principal.Actor = "" },
		"Tool":             func(c *deed.Call) { c.Tool = "" },
	} {
		t.Run(field, func(t *testing.T) {
			b := newRig(t, nil)
			call := refund("12")
			drop(&call)
			answer := b.do(call)
			b.want(answer, deed.Denied, deed.ReasonBadArguments, 0)
			if !strings.Contains(answer.Text, "deed.Call."+field+" is not set") {
				t.Errorf("it says %q", answer.Text)
			}
			events, err := b.store.Events(context.Background(), deed.EventQuery{Tenant: "acme", Name: deed.EventName(deed.Denied)})
			if told := field != "Principal.Tenant"; err != nil || (len(events) == 1) != told {
				t.Errorf("%d events, %v", len(events), err)
			}
		})
	}
}
