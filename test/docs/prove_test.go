// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"encoding/json"
	"testing"

	"github.com/deed-run/deed/faultkit"
)

// refundsHappenOnce is the test that docs/faultkit.md shows; it is compiled
// here and run by package faultkit with a tool of its own.
func refundsHappenOnce(t *testing.T) {
	faultkit.Prove(t, faultkit.ProveOptions{
		Binary:       "deed",
		Fixture:      []string{"deed", "fixture"},
		Config:       "deed.yaml",
		Tool:         "payments/refund",
		Args:         json.RawMessage(`{"order_id":"{{n}}","amount":1}`),
		CountCommand: []string{"sh", "-c", "cat refunds.csv 2>/dev/null | wc -l"},
	})
}

var _ = refundsHappenOnce
