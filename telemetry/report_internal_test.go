// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/storetest"
)

func TestFailuresOfTelemetryAreOneLineAMinute(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	var said []string
	r := &reports{log: func(text string) { said = append(said, text) }, clock: clock}
	for range 20 {
		r.Handle(errors.New("reading the ledger:\n\tno route to host\n"))
	}
	clock.Advance(reportsEvery)
	r.Handle(errors.New("no collector"))
	want := []string{
		"telemetry: reading the ledger: no route to host",
		"telemetry: no collector; 19 more failures since 2026-03-02T12:00:00Z",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}
