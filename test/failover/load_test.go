// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package failover_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
)

const tool deed.Tool = "payments/charge"

// provider is the outside world: it keeps a file of its own, one line for each
// effect, and knows nothing of databases.
type provider struct {
	mu   sync.Mutex
	file *os.File
	made int
}

// charge has the effect of a key and returns its remote id.
func (p *provider) charge(key string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	id := fmt.Sprintf("ch_%d", p.made)
	_, err := fmt.Fprintf(p.file, "%s %s\n", key, id)
	return id, err
}

// effects reads the file: the remote ids of each key.
func (p *provider) effects(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open(p.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	byKey := map[string][]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, id, _ := strings.Cut(lines.Text(), " ")
		byKey[key] = append(byKey[key], id)
	}
	return byKey
}

// load is callers on two stores, as two gateways would have them.
type load struct {
	provider *provider
	ledgers  []*postgres.Ledger
	runtimes []*deed.Runtime

	keys, answered atomic.Int64
	mu             sync.Mutex
	// acknowledged is the remote id of the receipt that a caller was handed.
	acknowledged map[string]string
	decisions    map[string]int
	callers      sync.WaitGroup
	stop         context.CancelFunc
}

// rule has leases and waits that fit a failover of seconds.
func rule() deed.Policy {
	r := deed.DefaultRule(tool)
	r.Lease, r.Wait = 10*time.Second, 2*time.Second
	r.Rate, r.Repeat = deed.Limit{N: -1, Per: time.Second}, deed.Limit{N: -1, Per: time.Second}
	return deed.FixedPolicy{tool: r}
}

func newLoad(t *testing.T, addresses ...string) *load {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "effects")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	l := &load{provider: &provider{file: file}, acknowledged: map[string]string{}, decisions: map[string]int{}}
	for _, address := range addresses {
		ledger, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rt, err := deed.New(deed.Options{Store: ledger, Policy: rule()})
		if err != nil {
			t.Fatal(err)
		}
		l.ledgers, l.runtimes = append(l.ledgers, ledger), append(l.runtimes, rt)
	}
	return l
}

// start lets callers run until end: three of four calls are of a new key, the
// others repeat one of the latest.
func (l *load) start(ctx context.Context, callers int) {
	ctx, l.stop = context.WithCancel(ctx)
	for i := range callers {
		l.callers.Go(func() {
			for ctx.Err() == nil {
				newest := l.keys.Load()
				key := newest - rand.Int64N(20)
				if rand.IntN(4) > 0 || key < 1 {
					key = l.keys.Add(1)
				}
				l.call(i, fmt.Sprintf("payment-number-%08d", key))
			}
		})
	}
}

// call makes one call and notes what it was told. It is not called off in the
// middle: a caller that leaves is told nothing.
func (l *load) call(i int, key string) deed.Answer {
	answer, err := l.runtimes[i%len(l.runtimes)].Do(context.Background(), deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "caller", Rights: []deed.Right{deed.RightCall, deed.RightRead}},
		Tool:      tool, Key: deed.OperationKey(key), Arguments: fmt.Appendf(nil, `{"payment":%q}`, key),
	}, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		id, err := l.provider.charge(key)
		return deed.Receipt{RemoteSystem: "payments", RemoteID: id, Result: []byte(id)}, err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	word := string(answer.Decision)
	switch {
	case err != nil:
		word = "error " + err.Error()
	case answer.Effective == deed.StatusCommitted && (answer.Decision == deed.Execute || answer.Decision == deed.Replay):
		l.answered.Add(1)
		l.acknowledged[key] = string(answer.Result)
	case answer.Decision == deed.Denied && answer.Reason != deed.ReasonStoreUnavailable:
		word += " " + string(answer.Reason)
	}
	l.decisions[word]++
	return answer
}

// await returns when so many more calls have been answered with a receipt.
func (l *load) await(t *testing.T, more int64) {
	t.Helper()
	goal := l.answered.Load() + more
	for until := time.Now().Add(2 * time.Minute); l.answered.Load() < goal; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("no %d calls are answered with a receipt any more: %v", more, l.told())
		}
	}
}

func (l *load) told() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	copied := map[string]int{}
	for word, n := range l.decisions {
		copied[word] = n
	}
	return copied
}

// closed closes and fails the test when something could not be recorded.
func (l *load) closed(t *testing.T) {
	t.Helper()
	if err := l.close(); err != nil {
		t.Error(err)
	}
}

// end stops the callers and waits for them.
func (l *load) end() {
	l.stop()
	l.callers.Wait()
}

// close ends everything, and records what could not be recorded before.
func (l *load) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var errs []error
	for i := range l.ledgers {
		errs = append(errs, l.runtimes[i].Close(ctx), l.ledgers[i].Close())
	}
	return errors.Join(errs...)
}

// check compares: no key has two effects, and every receipt that was handed
// out is still there, for the effect that happened.
func (l *load) check(t *testing.T) {
	t.Helper()
	effects := l.provider.effects(t)
	duplicates, lost := 0, 0
	for key, ids := range effects {
		if len(ids) > 1 {
			duplicates++
			t.Errorf("%s has the effects %v", key, ids)
		}
	}
	receipts := map[string]string{}
	for key, id := range l.acknowledged {
		receipts[key] = id
	}
	for key, id := range receipts {
		answer := l.call(0, key)
		if answer.Decision != deed.Replay || string(answer.Result) != id || answer.Operation.Receipt().RemoteID != id {
			lost++
			t.Errorf("%s was handed the receipt %s and is now answered %s %s %q", key, id, answer.Decision, answer.Reason, answer.Result)
		}
		if len(effects[key]) != 1 || effects[key][0] != id {
			t.Errorf("%s was handed the receipt %s of the effects %v", key, id, effects[key])
		}
	}
	t.Logf("%d effects, %d receipts handed out, %d duplicates, %d lost: %v", len(effects), len(receipts), duplicates, lost, l.told())
}
