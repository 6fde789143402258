// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/deed-run/deed"
)

// reportsEvery is how often failures of telemetry are told, at most.
const reportsEvery = time.Minute

// ReportTo tells log what goes wrong while telemetry is collected and exported, in one
// line a minute at most, in place of OpenTelemetry's own lines on stderr. It holds for
// the whole process: a program that has an error handler of its own does not call it.
func ReportTo(log func(text string), clock deed.Clock) {
	otel.SetErrorHandler(&reports{log: log, clock: clock})
}

// reports is an ErrorHandler of OpenTelemetry.
type reports struct {
	log   func(string)
	clock deed.Clock

	mu   sync.Mutex
	told time.Time
	more int
}

// Handle implements otel.ErrorHandler.
func (r *reports) Handle(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if !r.told.IsZero() && now.Sub(r.told) < reportsEvery && !now.Before(r.told) {
		r.more++
		return
	}
	text := "telemetry: " + strings.Join(strings.Fields(err.Error()), " ")
	if r.more > 0 {
		text += fmt.Sprintf("; %d more failures since %s", r.more, r.told.UTC().Format(time.RFC3339))
	}
	r.told, r.more = now, 0
	r.log(text)
}
