// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/inject"
)

// piped starts the fixture behind a pipe in a process of its own.
func piped(t *testing.T, dir string, controller *inject.Controller) *caller.Stdio {
	t.Helper()
	control := httptest.NewServer(controller.Handler())
	t.Cleanup(control.Close)
	s, err := caller.StartStdio(t.Context(), caller.Command{
		Path: fixture, Args: []string{"pipe", "--control", control.URL, "--", fixture, "stdio", "--dir", dir},
	})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAMishapStrikesTheCallThatThePlanNames(t *testing.T) {
	cases := []struct {
		mishap         inject.Mishap
		effects, calls int
		exits          bool
	}{
		{inject.CutReply, 2, 2, true},
		{inject.Crash, 2, 2, true},
		{inject.Duplicate, 3, 3, false},
	}
	for _, c := range cases {
		t.Run(string(c.mishap), func(t *testing.T) {
			dir := t.TempDir()
			controller := inject.NewController(inject.Plan{Mishap: c.mishap, Nth: 2})
			s := piped(t, dir, controller)
			_, err := caller.CallTool(patience(t), s, charge("first"))
			must(t, err)
			_, err = caller.CallTool(patience(t), s, charge("second"))
			if errors.Is(err, caller.ErrNoAnswer) != c.exits {
				t.Errorf("second call: %v", err)
			}
			must(t, controller.AwaitStruck(patience(t), 1))
			if c.exits {
				<-s.Exited()
			}
			if n := effects(t, dir); n != c.effects {
				t.Errorf("%d effects, want %d", n, c.effects)
			}
			if n := len(controller.Calls()); n != c.calls {
				t.Errorf("%d calls passed on, want %d", n, c.calls)
			}
		})
	}
}

func TestALostReplyLeavesTheConnectionAlive(t *testing.T) {
	dir := t.TempDir()
	controller := inject.NewController(inject.Plan{Mishap: inject.LoseReply})
	s := piped(t, dir, controller)
	waiting, giveUp := context.WithCancel(t.Context())
	lost := make(chan error, 1)
	go func() {
		_, err := caller.CallTool(waiting, s, charge("lost"))
		lost <- err
	}()
	must(t, controller.AwaitStruck(patience(t), 1))
	giveUp()
	if err := <-lost; !errors.Is(err, caller.ErrNoAnswer) {
		t.Errorf("lost call: %v", err)
	}
	_, err := caller.CallTool(patience(t), s, charge("next"))
	must(t, err)
	if n := effects(t, dir); n != 2 {
		t.Errorf("%d effects, want 2", n)
	}
}

func TestAPlanOutlivesThePipe(t *testing.T) {
	dir := t.TempDir()
	controller := inject.NewController(inject.Plan{Mishap: inject.Crash})
	s := piped(t, dir, controller)
	if _, err := caller.CallTool(patience(t), s, charge("a")); !errors.Is(err, caller.ErrNoAnswer) {
		t.Fatalf("struck call: %v", err)
	}
	if _, err := caller.CallTool(patience(t), piped(t, dir, controller), charge("b")); err != nil {
		t.Errorf("the plan struck again: %v", err)
	}
}

func TestACallThatNobodyCountedDoesNotPass(t *testing.T) {
	dir := t.TempDir()
	s, err := caller.StartStdio(t.Context(), caller.Command{
		Path: fixture, Args: []string{"pipe", "--control", "http://127.0.0.1:1", "--", fixture, "stdio", "--dir", dir},
	})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	if _, err := caller.CallTool(patience(t), s, charge("a")); !errors.Is(err, caller.ErrNoAnswer) {
		t.Errorf("call: %v", err)
	}
	<-s.Exited()
	if n := effects(t, dir); n != 0 {
		t.Errorf("%d effects", n)
	}
}
