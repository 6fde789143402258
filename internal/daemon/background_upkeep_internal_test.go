// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

func TestKeeperRunsAtOnceAndThenAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		u := &upkeep{end: end, clock: deed.SystemClock{}, problem: func(string) {}}
		passes := 0
		u.every(ctx, time.Minute, "test", func(context.Context) (int, error) {
			passes++
			return 0, nil
		})
		time.Sleep(150 * time.Second)
		synctest.Wait()
		u.stop()
		if passes != 3 {
			t.Errorf("%d passes in two and a half minutes, want 3", passes)
		}
	})
}

func TestKeeperTellsAProblemWhenItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var told []string
		u := &upkeep{end: end, clock: deed.SystemClock{}, problem: func(text string) { told = append(told, text) }}
		full := errors.New("disk full")
		outcomes := []error{full, full, nil, full}
		u.every(ctx, time.Minute, "recovery", func(context.Context) (int, error) {
			next := outcomes[0]
			outcomes = outcomes[1:]
			return 0, next
		})
		time.Sleep(200 * time.Second)
		synctest.Wait()
		u.stop()
		const text = "recovery: disk full; it is tried again"
		if diff := cmp.Diff([]string{text, text}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}
