// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import "context"

// crashAt is how a gateway built with the tag faultpoints is told where to die.
const crashAt = "DEED_CRASH_AT="

// CrashPoints returns the scenarios in which the gateway dies at a named point.
// They need a gateway built with the tag faultpoints: any other one answers where
// it should have died, and fails them.
func CrashPoints() []Scenario {
	return []Scenario{
		{Name: "crash-p1", Asks: "may a call be made after a crash before anything was stored?",
			Requests: 1, Effects: 1, play: crashPoint("P1", committed, "replay")},
		{Name: "crash-p2", Asks: "is a call uncertain after a crash with the attempt stored?",
			Requests: 1, Effects: 1, AtMost: true, play: crashPoint("P2", "uncertain", "uncertain")},
		{Name: "crash-p3", Asks: "is a call uncertain after a crash with the answer read and no receipt stored?",
			Requests: 1, Effects: 1, play: crashPoint("P3", "uncertain", "uncertain")},
		{Name: "crash-p4", Asks: "is a stored receipt replayed after a crash before the caller was answered?",
			Requests: 1, Effects: 1, play: crashPoint("P4", "replay", "replay")},
	}
}

// crashPoint restarts the gateway so that it dies at the point during the call,
// then without it, and calls twice more.
func crashPoint(point, then, later string) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		env := st.gateway.Env
		if err := st.stop(); err != nil {
			return err
		}
		st.gateway.Env = append(append([]string{}, env...), crashAt+point)
		if err := st.start(ctx); err != nil {
			return err
		}
		st.call(ctx, st.own(), "no answer")
		select {
		case <-st.running.Died():
		default:
			// The answer came although the process was to die: end it, so that the
			// rest can be told apart from a gateway that is still at work.
			st.running.Kill()
		}
		st.gateway.Env = env
		if err := st.start(ctx); err != nil {
			return err
		}
		st.settled(ctx, st.own(), then)
		st.call(ctx, st.own(), later)
		return nil
	}
}
