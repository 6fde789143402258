// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"fmt"
	"testing"
)

// Behind PgBouncer in transaction mode no gateway has a session of its own: what
// moved is told past it, or found by polling.
func TestGatewaysBehindAPoolerInTransactionModeShareTheirLedger(t *testing.T) {
	server := ownCluster(t)
	pooler, err := server.Bouncer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pooler.Stop(); err != nil {
			t.Error(err)
		}
	})
	for name, notifications := range map[string]func(f *fleet) string{
		"told past it":     func(f *fleet) string { return server.URL(f.database) },
		"found by polling": func(*fleet) string { return "off" },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, inPostgreSQL, server, 0, nil)
			f.place = pooler.URL(f.database)
			f.write(object{
				"ledger": f.place, "ledger_notifications": notifications(f),
				"defaults":  object{"lease": "30s", "timeout": "1m", "rate": "1000000/s", "repeat": "1000000/s"},
				"upstreams": object{"shop": object{"url": f.fixture.MCP}},
				"tools": object{"shop/pay.charge": object{
					"effect": "non_idempotent", "key": "required", "receipt": object{"system": "shop", "id": "/structuredContent/id"},
				}},
			})
			f.start()
			f.start()
			for _, d := range doors() {
				for n := range 4 {
					order := fmt.Sprintf("%s-%d", d.name, n)
					f.oneExecuted(f.together(d, 8, "charge:"+order+":first", order))
					f.counted(order, 1, 1)
				}
			}
		})
	}
}
