// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package linear_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/sqlite"
)

// These make a process of this test program a worker on a ledger.
const (
	workerVariable = "DEED_LINEAR_LEDGER"
	bugVariable    = "DEED_LINEAR_BUG"
)

const tool deed.Tool = "linear/pay"

// request is one line to a worker, reply one line from it.
type request struct {
	ID int
	input
}

type reply struct {
	ID int
	output
	// MaySend: the attempt may be sent.
	MaySend bool
	Problem string
}

// worker serves claims and settlements on a Runtime of its own.
type worker struct {
	runtime *deed.Runtime
	mu      sync.Mutex
	grants  map[int]*deed.Grant
	out     *json.Encoder
}

// rule has leases that run out within a test.
func rule() deed.Policy {
	r := deed.DefaultRule(tool)
	r.Lease, r.Wait = 400*time.Millisecond, 40*time.Millisecond
	r.Rate, r.Repeat = deed.Limit{N: -1, Per: time.Second}, deed.Limit{N: -1, Per: time.Second}
	return deed.FixedPolicy{tool: r}
}

func openLedger(ctx context.Context, address string) (deed.Store, io.Closer, error) {
	if strings.HasPrefix(address, "postgres:") {
		l, err := postgres.Open(ctx, address, postgres.Options{Patience: 2 * time.Second})
		return l, l, err
	}
	l, err := sqlite.Open(ctx, address, sqlite.Options{})
	return l, l, err
}

// runWorker serves until its input ends.
func runWorker(address string) error {
	ctx := context.Background()
	store, closer, err := openLedger(ctx, address)
	if err != nil {
		return err
	}
	if os.Getenv(bugVariable) != "" {
		store = &checkThenInsert{store}
	}
	rt, err := deed.New(deed.Options{Store: store, Policy: rule()})
	if err != nil {
		return err
	}
	w := &worker{runtime: rt, grants: map[int]*deed.Grant{}, out: json.NewEncoder(os.Stdout)}
	var running sync.WaitGroup
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		running.Go(func() { w.serve(ctx, asked) })
	}
	running.Wait()
	closing, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return errors.Join(lines.Err(), rt.Close(closing), closer.Close())
}

func (w *worker) serve(ctx context.Context, asked request) {
	told := reply{ID: asked.ID}
	var err error
	if asked.Kind == "settle" {
		told.output, err = w.settle(ctx, asked.input)
	} else {
		told.output, told.MaySend, err = w.claim(ctx, asked.input)
	}
	if err != nil {
		told.Problem = err.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// The other end may be gone; then so is this process.
	_ = w.out.Encode(told)
}

func (w *worker) claim(ctx context.Context, asked input) (output, bool, error) {
	answer, grant, err := w.runtime.Claim(ctx, deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "caller", Rights: []deed.Right{deed.RightCall}}, Tool: tool, Key: deed.OperationKey("linear-key-of-" + asked.Key),
		Arguments: fmt.Appendf(nil, `{"key":%q,"payload":%q}`, asked.Key, asked.Payload),
	})
	if err != nil {
		return output{}, false, err
	}
	if grant != nil {
		w.mu.Lock()
		w.grants[asked.Claim] = grant
		w.mu.Unlock()
		return output{Answer: "granted"}, grant.MaySend() == nil, nil
	}
	told := output{Answer: string(answer.Decision)}
	switch answer.Decision {
	case deed.Replay:
		told.Receipt = answer.Operation.Receipts[0].RemoteID
		if string(answer.Result) != told.Receipt {
			return told, false, fmt.Errorf("the replay has receipt %q and result %q", told.Receipt, answer.Result)
		}
	case deed.Denied:
		if answer.Reason != deed.ReasonStoreUnavailable {
			return told, false, fmt.Errorf("denied: %s %s", answer.Reason, answer.Text)
		}
		told.Answer = "unavailable"
	}
	return told, false, nil
}

func (w *worker) settle(ctx context.Context, asked input) (output, error) {
	w.mu.Lock()
	grant := w.grants[asked.Claim]
	w.mu.Unlock()
	outcome := deed.Outcome{Kind: deed.OutcomeKind(asked.Outcome)}
	if outcome.Kind == deed.OutcomeSuccess {
		outcome.Receipt = deed.Receipt{RemoteSystem: "payments", RemoteID: asked.Receipt}
		outcome.Result = []byte(asked.Receipt)
	}
	answer, err := w.runtime.Settle(ctx, grant, outcome)
	if err != nil {
		return output{}, err
	}
	if answer.Operation.Status == deed.StatusExecuting {
		return output{Answer: "unrecorded"}, nil
	}
	return output{Answer: string(answer.Operation.Status)}, nil
}
