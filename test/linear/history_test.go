// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package linear_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// load says how one history is made.
type load struct {
	ledger, bug string
	seed        uint64
	clients     int
	// calls is the number of claims of each client.
	calls     int
	processes int
	// kills is how often a process is killed, and another started in its place.
	kills int
}

// recorder makes one history.
type recorder struct {
	load
	began    time.Time
	claims   atomic.Int64
	calls    atomic.Int64
	killed   atomic.Int64
	problems atomic.Pointer[string]

	mu        sync.Mutex
	processes []*process
	history   []porcupine.Operation
	effects   map[string]int
}

// record runs the load and returns the history and the effects per key.
func record(t *testing.T, l load) *recorder {
	t.Helper()
	r := &recorder{load: l, began: time.Now(), effects: map[string]int{}}
	for range l.processes {
		p, err := startProcess(l.ledger, l.bug)
		if err != nil {
			t.Fatal(err)
		}
		r.processes = append(r.processes, p)
	}
	var clients sync.WaitGroup
	for id := range l.clients {
		clients.Go(func() { r.client(id) })
	}
	clients.Wait()
	var errs []error
	for _, p := range r.processes {
		errs = append(errs, p.stop())
	}
	if err := errors.Join(errs...); err != nil && l.bug == "" {
		t.Error(err)
	}
	if problem := r.problems.Load(); problem != nil && l.bug == "" {
		t.Error(*problem)
	}
	return r
}

// client makes its claims one after the other.
func (r *recorder) client(id int) {
	random := rand.New(rand.NewPCG(r.seed, uint64(id)))
	keys := r.clients
	for range r.load.calls {
		r.mayKill(random)
		asked := input{
			Kind: "claim", Key: fmt.Sprintf("%d-%d", r.seed, random.IntN(keys)), Payload: "a", Claim: int(r.claims.Add(1)),
		}
		if random.IntN(6) == 0 {
			asked.Payload = "b"
		}
		r.mu.Lock()
		p := r.processes[random.IntN(len(r.processes))]
		r.mu.Unlock()
		told, answered := r.ask(id, p, asked)
		if !answered || told.Answer != "granted" {
			continue
		}
		r.carryOut(id, random, p, asked, told)
	}
}

// carryOut has the effect, or not, and settles what was granted.
func (r *recorder) carryOut(id int, random *rand.Rand, p *process, asked input, told reply) {
	settle := input{Kind: "settle", Key: asked.Key, Claim: asked.Claim, Outcome: "unsent"}
	if chance := random.IntN(10); told.MaySend && chance > 2 {
		r.mu.Lock()
		r.effects[asked.Key]++
		r.mu.Unlock()
		settle.Outcome, settle.Receipt = "success", fmt.Sprintf("receipt-%d", asked.Claim)
		if chance == 3 {
			settle.Outcome, settle.Receipt = "unknown", ""
		}
	}
	r.ask(id, p, settle)
}

// ask adds one operation to the history. What is not answered may take effect
// at any later time, or never.
func (r *recorder) ask(id int, p *process, asked input) (reply, bool) {
	op := porcupine.Operation{ClientId: id, Input: asked, Call: time.Since(r.began).Nanoseconds(), Return: math.MaxInt64}
	told, answered := p.ask(asked)
	if answered && told.Problem != "" {
		problem := fmt.Sprintf("%+v: %s", asked, told.Problem)
		r.problems.Store(&problem)
	}
	op.Output = told.output
	if answered && told.Answer != "" && told.Answer != "unrecorded" && told.Answer != "unavailable" {
		op.Return = time.Since(r.began).Nanoseconds()
	}
	r.mu.Lock()
	r.history = append(r.history, op)
	r.mu.Unlock()
	return told, answered
}

// mayKill kills one process when it is time, and starts another.
func (r *recorder) mayKill(random *rand.Rand) {
	every := int64(r.clients*r.load.calls/(r.kills+1)) + 1
	if r.calls.Add(1)%every != 0 {
		return
	}
	fresh, err := startProcess(r.ledger, r.bug)
	if err != nil {
		problem := err.Error()
		r.problems.Store(&problem)
		return
	}
	r.mu.Lock()
	at := random.IntN(len(r.processes))
	old := r.processes[at]
	r.processes[at] = fresh
	r.mu.Unlock()
	old.kill()
	r.killed.Add(1)
}
