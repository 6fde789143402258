// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// demoSide is one performance of the script: a provider of its own, and an agent
// that reaches it directly or through deed.
type demoSide struct {
	name    string
	guarded bool
	binary  string
	folder  string

	fixture *faultkit.Fixture
	session caller.Session
	kill    func()
}

type demoPlayed struct {
	step  string
	count demoCount
}

// demoStep is one payment and what happens to it.
type demoStep struct {
	what  string
	order string
	play  func(ctx context.Context, s *demoSide, pay func(amount int) caller.Call) ([]string, error)
}

func demoSteps() []demoStep {
	return []demoStep{
		{"the answer is lost after the payment", "order-1042", demoLostAnswer},
		{"the process in between is killed (kill -9)", "order-1043", demoKill},
		{"the same message arrives twice", "order-1044", demoTwice},
		{"twenty equal calls at once", "order-1045", demoBurst},
		{"the amount changes under the same key", "order-1046", demoChanged},
	}
}

func (s *demoSide) play(ctx context.Context) (played []demoPlayed, err error) {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, err
	}
	s.fixture, err = faultkit.StartFixture(ctx, []string{s.binary, "fixture"}, filepath.Join(s.folder, "provider"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.fixture.Close()) }()
	if err := s.configure(); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.session.Close()) }()
	for _, step := range demoSteps() {
		pay := func(amount int) caller.Call {
			return caller.Call{
				Tool: "pay.charge", Arguments: json.RawMessage(fmt.Sprintf(`{"order_id":%q,"amount":%d}`, step.order, amount)),
				Meta: map[string]any{"deed/idempotency-key": "charge:" + step.order + ":first"},
			}
		}
		answers, err := step.play(ctx, s, pay)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
		count, err := s.count(ctx, step.order)
		if err != nil {
			return nil, err
		}
		count.Answers = answers
		played = append(played, demoPlayed{step.what, count})
	}
	return played, nil
}

// configure writes the gateway's deed.yaml. JSON is YAML.
func (s *demoSide) configure() error {
	if !s.guarded {
		return nil
	}
	text, err := json.MarshalIndent(map[string]any{
		"ledger":    "sqlite:ledger.db",
		"upstreams": map[string]any{"shop": map[string]any{"command": s.fixture.Upstream()}},
		"defaults":  map[string]any{"lease": "2s", "timeout": "10s", "answer_within": "30s"},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.config(), append(text, '\n'), 0o600)
}

func (s *demoSide) config() string { return filepath.Join(s.folder, "deed.yaml") }

// connect opens a session, as a client does again after its server is gone.
func (s *demoSide) connect(ctx context.Context) error {
	if s.guarded {
		running, err := faultkit.Gateway{Binary: s.binary, Config: s.config(), Upstream: "shop"}.Start(ctx)
		if err != nil {
			return err
		}
		s.session, s.kill = running, running.Kill
		return nil
	}
	command := s.fixture.Upstream()
	direct, err := caller.StartStdio(ctx, caller.Command{Path: command[0], Args: command[1:]})
	if err != nil {
		return err
	}
	s.session, s.kill = direct, direct.Kill
	return nil
}

func (s *demoSide) count(ctx context.Context, order string) (demoCount, error) {
	requests, err := s.fixture.Requests(ctx, provider.Selection{Op: order})
	if err != nil {
		return demoCount{}, err
	}
	effects, err := s.fixture.Effects(ctx, provider.Selection{Op: order})
	return demoCount{Requests: len(requests), Effects: len(effects)}, err
}

// send makes one call and names the answer.
func (s *demoSide) send(ctx context.Context, call caller.Call) string {
	answer, _ := s.ask(ctx, call)
	return answer
}

func (s *demoSide) ask(ctx context.Context, call caller.Call) (string, caller.Result) {
	result, err := caller.CallTool(ctx, s.session, call)
	switch {
	case err != nil:
		return "no answer", result
	case result.Operation == nil:
		return "done", result
	case result.Operation.Decision == "execute":
		return result.Operation.Status, result
	}
	return result.Operation.Decision, result
}

// insist is the agent that repeats a call without a clear answer: over a new
// connection if the old one is gone, later if it is told to wait.
func (s *demoSide) insist(ctx context.Context, call caller.Call, answers []string) ([]string, error) {
	for {
		if answers[len(answers)-1] == "no answer" {
			s.kill()
			if err := s.connect(ctx); err != nil {
				return answers, err
			}
		}
		answer, result := s.ask(ctx, call)
		if answer != "in_progress" {
			return append(answers, answer), nil
		}
		if answers[len(answers)-1] != answer {
			answers = append(answers, answer)
		}
		if err := rest(ctx, result); err != nil {
			return answers, err
		}
	}
}

// rest waits as long as the answer asks for, half a second at most.
func rest(ctx context.Context, result caller.Result) error {
	asked := time.Duration(result.Operation.RetryAfter * float64(time.Second))
	timer := time.NewTimer(min(max(asked, 50*time.Millisecond), 500*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func demoLostAnswer(ctx context.Context, s *demoSide, pay func(int) caller.Call) ([]string, error) {
	if err := s.fixture.SetFaults(ctx, provider.Fault{Fault: provider.CommitDrop, Times: 1}); err != nil {
		return nil, err
	}
	return s.insist(ctx, pay(100), []string{s.send(ctx, pay(100))})
}

func demoKill(ctx context.Context, s *demoSide, pay func(int) caller.Call) ([]string, error) {
	if err := s.fixture.SetFaults(ctx, provider.Fault{Fault: provider.CommitHang, Times: 1}); err != nil {
		return nil, err
	}
	first := make(chan string, 1)
	go func() { first <- s.send(ctx, pay(100)) }()
	if _, err := s.fixture.Effects(ctx, provider.Selection{Op: "order-1043", AtLeast: 1}); err != nil {
		return nil, err
	}
	s.kill()
	answers := []string{<-first}
	if err := s.fixture.Release(ctx, ""); err != nil {
		return nil, err
	}
	return s.insist(ctx, pay(100), answers)
}

func demoTwice(ctx context.Context, s *demoSide, pay func(int) caller.Call) ([]string, error) {
	return []string{s.send(ctx, pay(100)), s.send(ctx, pay(100))}, nil
}

func demoBurst(ctx context.Context, s *demoSide, pay func(int) caller.Call) ([]string, error) {
	answers := make([]string, 20)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() { answers[i] = s.send(ctx, pay(100)) })
	}
	calls.Wait()
	slices.Sort(answers)
	return answers, nil
}

func demoChanged(ctx context.Context, s *demoSide, pay func(int) caller.Call) ([]string, error) {
	return []string{s.send(ctx, pay(100)), s.send(ctx, pay(999))}, nil
}
