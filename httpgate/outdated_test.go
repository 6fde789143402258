// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

// Another gateway of the ledger has begun under other rules.
func TestAGatewayWithOlderRulesSaysWhoDoesWhat(t *testing.T) {
	r := overFixture(t, setup{})
	r.charge(order1, "Idempotency-Key", key).wants(t, 200)
	_, err := r.store.Setting(context.Background(), deed.ActiveSetting("pay/POST /tools/pay.charge"), func([]byte) []byte { return []byte("sha256:other") })
	must(t, err)
	g := r.charge(`{"order_id":"order-2","amount":5}`, "Idempotency-Key", key+"-2")
	g.wants(t, 503, "Deed-Reason", "policy_outdated")
	const want = "nothing was sent by this request; whoever runs this gateway must restart it with the newer configuration file; ask again later, under the same key"
	if have := g.member(t, "detail"); have != want || !strings.Contains(g.body, "older rules than another one") {
		t.Errorf("it says %s", g.body)
	}
	r.effects(1, 1)
}
