// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

// The rule is the same whatever made it too late; the words say what to mend.
func TestTooLateSaysWhetherTheClocksDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		ahead, passed time.Duration
		want          string
	}{
		"a clock behind":             {-time.Minute, 0, ""},
		"a clock a little ahead":     {29 * time.Second, 0, ""},
		"a clock ahead by the lease": {30 * time.Second, 0, "too late to send: this machine's clock is about 30s ahead of the ledger's, and an attempt has 30s; nothing was sent: set both clocks right (NTP), then call again (OP attempt 1)"},
		"a clock far ahead":          {time.Hour, 2 * time.Second, "too late to send: this machine's clock is about 1h0m0s ahead of the ledger's, and an attempt has 30s; nothing was sent: set both clocks right (NTP), then call again (OP attempt 1)"},
		"time that passed":           {0, 31 * time.Second, "too late to send: OP attempt 1 was begun 31s ago and had 30s"},
		"both":                       {time.Hour, 31 * time.Second, "too late to send: OP attempt 1 was begun 1h0m31s ago and had 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, nil)
			local := storetest.NewClock(noon.Add(c.ahead))
			rt, err := deed.New(deed.Options{Store: b.store, Clock: local, Policy: deed.FixedPolicy{"pay/refund": b.rule}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := rt.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			_, grant := b.claim(rt, refund("12"))
			defer rt.Release(grant)
			local.Advance(c.passed)
			err = grant.MaySend()
			got := ""
			if err != nil {
				got = err.Error()
			}
			want := strings.ReplaceAll(c.want, "OP", string(grant.Operation))
			if got != want || errors.Is(err, deed.ErrTooLate) != (want != "") {
				t.Errorf("it says %q, want %q", got, want)
			}
		})
	}
}
