// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package dotx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/test/pgcluster"
)

// crash has the effect, says so, and waits to be killed.
func crash(address string) {
	ctx := context.Background()
	b, err := openBank(ctx, address, address, rule())
	if err == nil {
		_, err = b.transfer(ctx, "interrupted", 4, func() error {
			fmt.Println("the effect is in the transaction")
			select {}
		})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestAProcessThatIsKilledInTheMiddleDidNothing(t *testing.T) {
	database := newDatabase(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(program)
	victim.Env = append(os.Environ(), crashing+"="+cluster.Address(database))
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = victim.Wait() // it was killed
	b := newBank(t, database, rule())
	answer, err := b.transfer(t.Context(), "interrupted", 4, nil)
	for err == nil && answer.Reason == deed.ReasonStoreUnavailable {
		// The server has not noticed yet that the client is gone.
		answer, err = b.transfer(t.Context(), "interrupted", 4, nil)
	}
	want(t, answer, err, deed.Execute, `{"booked":4}`)
	if n := transfers(t, database, "interrupted"); n != 1 {
		t.Errorf("%d transfers", n)
	}
}

func TestAConnectionCutDuringCommitLosesNothingAndDoublesNothing(t *testing.T) {
	database := newDatabase(t)
	var commits atomic.Int64
	cutter, err := cluster.NewCutter(func() pgcluster.Cut {
		if commits.Add(1)%2 == 0 {
			return pgcluster.CutNone
		}
		return pgcluster.CutBefore + pgcluster.Cut(rand.IntN(3))
	})
	if err != nil {
		t.Fatal(err)
	}
	// The transactions of the program go through the proxy.
	b, err := openBank(t.Context(), cluster.Address(database, cutter.Parameters()...), cluster.Address(database), rule())
	if err != nil {
		t.Fatal(err)
	}
	limit := cuts(t)
	var acknowledged, undone, unknown atomic.Int64
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for n := 0; cutter.Cuts.Load() < limit; n++ {
				key := fmt.Sprintf("%d-%d", caller, n)
				answer, err := b.transfer(t.Context(), key, 7, nil)
				there := transfers(t, database, key)
				switch {
				case err == nil && answer.Decision == deed.Execute:
					acknowledged.Add(1)
					if there != 1 {
						t.Errorf("%s was acknowledged and has %d transfers", key, there)
					}
				case errors.Is(err, deed.ErrCommitUnknown):
					unknown.Add(1)
				case err != nil:
					undone.Add(1)
					if there != 0 {
						t.Errorf("%s: %v, and yet it has %d transfers", key, err, there)
					}
				default:
					t.Errorf("%s was answered %s %s %s", key, answer.Decision, answer.Reason, answer.Text)
				}
				for again := 0; ; again++ {
					answer, err := b.transfer(t.Context(), key, 7, nil)
					if err == nil && (answer.Decision == deed.Execute || answer.Decision == deed.Replay) {
						break
					}
					if again == 50 {
						t.Errorf("%s does not come to an end: %s %s, %v", key, answer.Decision, answer.Reason, err)
						return
					}
				}
				if n := transfers(t, database, key); n != 1 {
					t.Errorf("%s has %d transfers in the end", key, n)
				}
			}
		})
	}
	callers.Wait()
	if err := errors.Join(b.close(), cutter.Stop()); err != nil {
		t.Error(err)
	}
	t.Logf("%d cuts: %d transfers acknowledged, %d undone, %d unknown", cutter.Cuts.Load(), acknowledged.Load(), undone.Load(), unknown.Load())
}
