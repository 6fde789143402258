// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"
	"time"

	"github.com/deed-run/deed"
)

// Open returns an empty store that reads its time from clock. It registers
// whatever closes it with t.
type Open func(t *testing.T, clock deed.Clock) deed.Store

// Run checks that the stores which open returns keep the contract of
// deed.Store, each part on a store of its own.
func Run(t *testing.T, open Open) {
	for _, area := range []struct {
		name  string
		cases []testCase
	}{
		{"transact", transactCases},
		{"payload", payloadCases},
		{"fields", fieldCases},
		{"keys", keyCases},
		{"lineage", lineageCases},
		{"twins", twinCases},
		{"refused", refusedCases},
		{"rules", ruleCases},
		{"list", listCases},
		{"pages", pageCases},
		{"lapsed", lapsedCases},
		{"events", eventCases},
		{"delivered", deliveredCases},
		{"watch", watchCases},
		{"trim", trimCases},
		{"setting", settingCases},
		{"tenants", tenantCases},
		{"budgets", budgetCases},
		{"consents", consentCases},
		{"concurrency", concurrencyCases},
	} {
		t.Run(area.name, func(t *testing.T) {
			for _, c := range area.cases {
				t.Run(c.name, func(t *testing.T) {
					clock := NewClock(start)
					c.run(&fixture{T: t, clock: clock, store: open(t, clock)})
				})
			}
		})
	}
}

// testCase is one sentence about a Store.
type testCase struct {
	name string
	run  func(*fixture)
}

var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
