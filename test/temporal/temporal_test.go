// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/sqlite"
)

// stage is a provider, a task queue, and a ledger where the workers have one.
type stage struct {
	t       *testing.T
	fixture *faultkit.Fixture
	client  client.Client
	setting setting
}

func newStage(t *testing.T, guarded bool) *stage {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fixture, err := faultkit.StartFixture(t.Context(), []string{"env", role + "=fixture", program}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fixture.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &stage{t: t, fixture: fixture, client: dial(t)}
	s.setting = setting{Address: address, Namespace: namespace, Queue: t.Name(), Provider: fixture.Tools}
	if guarded {
		s.setting.Ledger = filepath.Join(t.TempDir(), "ledger.db")
	}
	return s
}

// worker starts a worker's process and returns how to kill it; it is stopped at
// the end of the test otherwise.
func (s *stage) worker() (kill func()) {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	told, err := json.Marshal(s.setting)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), role+"=worker", settingVariable+"="+string(told))
	cmd.Stderr = os.Stderr
	var stop io.Closer
	if stop, err = cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := false
	s.t.Cleanup(func() {
		_ = stop.Close()
		if !ended {
			_ = cmd.Wait()
		}
	})
	return func() {
		ended = true
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (s *stage) fault(kind provider.FaultKind, params provider.FaultParams) {
	s.t.Helper()
	if err := s.fixture.SetFaults(s.t.Context(), provider.Fault{Fault: kind, Times: 1, Params: params}); err != nil {
		s.t.Fatal(err)
	}
}

// start starts the Workflow.
func (s *stage) start(flow any, limit time.Duration, options client.StartWorkflowOptions) client.WorkflowRun {
	s.t.Helper()
	options.TaskQueue = s.setting.Queue
	run, err := s.client.ExecuteWorkflow(s.t.Context(), options, flow, refund{Order: "1042", Amount: 12}, limit)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

func (s *stage) end(run client.WorkflowRun) outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	var o outcome
	if err := run.Get(ctx, &o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// effects waits for n of them and fails if there are more.
func (s *stage) effects(n int) {
	s.t.Helper()
	list, err := s.fixture.Effects(s.t.Context(), provider.Selection{AtLeast: n})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(list) != n {
		s.t.Errorf("the provider refunded %d times, want %d", len(list), n)
	}
}

// both plays a mishap with the guard, and without it, where it has two effects.
func both(t *testing.T, play func(*testing.T, *stage)) {
	t.Run("guarded", func(t *testing.T) {
		s := newStage(t, true)
		play(t, s)
		s.effects(1)
	})
	t.Run("without a guard", func(t *testing.T) {
		s := newStage(t, false)
		play(t, s)
		s.effects(2)
	})
}

func TestAWorkerIsKilledBetweenTheEffectAndItsAnswer(t *testing.T) {
	both(t, func(t *testing.T, s *stage) {
		s.fault(provider.CommitHang, provider.FaultParams{})
		kill := s.worker()
		run := s.start("refundOrder", 5*time.Second, client.StartWorkflowOptions{})
		s.effects(1)
		kill()
		s.worker()
		if s.setting.Ledger != "" {
			s.resolve()
		}
		o := s.end(run)
		switch {
		case s.setting.Ledger == "" && o.Report == nil && o.Refunded.ID != "":
		case s.setting.Ledger != "" && o.Report.Done() && o.Report.Receipt.RemoteID == "ref_000001":
		default:
			t.Errorf("the Workflow ended with %+v", o)
		}
	})
}

// resolve says, as a person would, that the refund happened.
func (s *stage) resolve() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	ledger, err := sqlite.Open(ctx, s.setting.Ledger, sqlite.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer ledger.Close()
	rt, err := runtimeOn(ledger)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rt.Close(ctx)
	who := deed.Principal{Tenant: "acme", Actor: "alice", Rights: []deed.Right{deed.RightRead, deed.RightResolve}}
	for {
		page, err := rt.List(ctx, who, deed.Query{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, op := range page.Operations {
			if op.Status == deed.StatusUncertain {
				_, err := rt.Resolve(ctx, who, op.ID, deed.Resolution{Outcome: deed.ResolveCommitted, RemoteIDs: []string{"ref_000001"}, Reason: "it is on the provider's page", Force: true})
				if err != nil {
					s.t.Fatal(err)
				}
				return
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func TestAnActivityTakesLongerThanItsTimeout(t *testing.T) {
	both(t, func(t *testing.T, s *stage) {
		s.fault(provider.Hang, provider.FaultParams{MS: 4000})
		s.worker()
		if o := s.end(s.start("refundOrder", 2*time.Second, client.StartWorkflowOptions{})); o.Refunded.ID == "" {
			t.Errorf("the Workflow ended with %+v", o)
		}
		// Without a guard the first request is still at work.
		s.effectsLater()
	})
}

// effectsLater lets what is under way at the provider end.
func (s *stage) effectsLater() {
	s.t.Helper()
	n := 1
	if s.setting.Ledger == "" {
		n = 2
	}
	if _, err := s.fixture.Effects(s.t.Context(), provider.Selection{AtLeast: n}); err != nil {
		s.t.Fatal(err)
	}
}

func TestAWorkflowIsReset(t *testing.T) {
	both(t, func(t *testing.T, s *stage) {
		s.worker()
		run := s.start("refundOrder", time.Minute, client.StartWorkflowOptions{})
		first := s.end(run)
		reset, err := s.client.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
			Namespace:                 namespace,
			WorkflowExecution:         &common.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
			Reason:                    "a person wants it to run again",
			WorkflowTaskFinishEventId: s.firstTask(run),
			RequestId:                 t.Name(),
		})
		if err != nil {
			t.Fatal(err)
		}
		second := s.end(s.client.GetWorkflow(t.Context(), run.GetID(), reset.GetRunId()))
		if guarded := s.setting.Ledger != ""; (first.Refunded == second.Refunded) != guarded {
			t.Errorf("the runs ended with %+v and %+v", first, second)
		}
	})
}

// firstTask is the event at which the first task of the Workflow was completed.
func (s *stage) firstTask(run client.WorkflowRun) int64 {
	s.t.Helper()
	history := s.client.GetWorkflowHistory(s.t.Context(), run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return event.GetEventId()
		}
	}
	s.t.Fatal("no task of the Workflow was completed")
	return 0
}

func TestAWorkflowIsTriedAgain(t *testing.T) {
	both(t, func(t *testing.T, s *stage) {
		s.worker()
		o := s.end(s.start("refundThenFail", time.Minute, client.StartWorkflowOptions{
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumAttempts: 2},
		}))
		if o.Refunded.ID == "" {
			t.Errorf("the Workflow ended with %+v", o)
		}
	})
}
