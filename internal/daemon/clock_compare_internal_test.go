// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

func TestWhoRunsAGatewayIsToldOnceThatItsClockIsNotTheLedgers(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		place Place
		ahead time.Duration
		want  string
	}{
		"ahead":              {"postgres://db/deed", 45 * time.Second, "about 45s ahead of the ledger's"},
		"behind":             {"postgres://db/deed", -time.Hour, "about 1h0m0s behind the ledger's; calls are sent"},
		"a little ahead":     {"postgres://db/deed", 10 * time.Second, ""},
		"a little behind":    {"postgres://db/deed", -10 * time.Second, ""},
		"a ledger in a file": {"ledger.db", time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var logged []string
			core := &Core{place: c.place, Clock: storetest.NewClock(noon.Add(c.ahead)), log: func(text string) { logged = append(logged, text) }}
			for range 3 {
				core.compareClocks(deed.Event{At: noon})
			}
			core.compareClocks(deed.Event{})
			h := &health{store: storetest.NewMemory(core.Clock), clock: core.Clock, outdated: func() bool { return false }, clocks: core.clocksText}
			w := httptest.NewRecorder()
			h.ready(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			if got := w.Body.String(); w.Code != http.StatusOK || strings.Contains(got, "ready, but this machine's clock") != (c.want != "") || !strings.Contains(got, c.want) {
				t.Errorf("/readyz says %d %s", w.Code, got)
			}
			switch {
			case c.want == "" && len(logged) > 0:
				t.Errorf("it says %q", logged)
			case c.want != "" && (len(logged) != 1 || !strings.Contains(logged[0], c.want) || !strings.Contains(logged[0], "set both clocks right")):
				t.Errorf("it says %q, want once %q", logged, c.want)
			}
		})
	}
}
