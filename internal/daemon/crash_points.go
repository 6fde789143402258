// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/deed-run/deed"
)

// HasCrashPoints: this binary was built with the tag faultpoints.
const HasCrashPoints = true

// crashing puts the crash points around a store. DEED_CRASH_AT names one:
//
//	P1  before the durable write that begins an attempt
//	P2  the attempt is durable, nothing was sent
//	P3  the answer was read, its receipt is not stored
//	P4  the receipt is stored, the client was not answered
func crashing(store deed.Store, getenv func(string) string) (deed.Store, error) {
	point := getenv("DEED_CRASH_AT")
	switch point {
	case "":
		return store, nil
	case "P1", "P2", "P3", "P4":
		return crashStore{Store: store, point: point}, nil
	}
	return nil, fmt.Errorf("DEED_CRASH_AT: there is no crash point %q; nothing was started; use P1, P2, P3 or P4", point)
}

type crashStore struct {
	deed.Store
	point string
}

// Transact looks at what is about to be written, inside the transaction, and
// at what has been written, after it.
func (s crashStore) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	begins, settles := false, false
	view, err := s.Store.Transact(ctx, scope, func(view deed.View) (deed.Change, error) {
		c, err := change(view)
		if err != nil {
			return c, err
		}
		begins = holds(c, deed.EventBegun, deed.EventContinued)
		settles = holds(c, deed.EventSucceeded, deed.EventProved, deed.EventRefused, deed.EventRefusedLate, deed.EventInputRequested, deed.EventTaskGiven)
		s.crash(begins && s.point == "P1" || settles && s.point == "P3")
		return c, nil
	})
	s.crash(err == nil && (begins && s.point == "P2" || settles && s.point == "P4"))
	return view, err
}

func holds(c deed.Change, names ...deed.EventName) bool {
	return slices.ContainsFunc(c.Events, func(e deed.Event) bool { return slices.Contains(names, e.Name) })
}

// crash ends the process as SIGKILL does: nothing is flushed, nothing runs on.
func (crashStore) crash(now bool) {
	if !now {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}
