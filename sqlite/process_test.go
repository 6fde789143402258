// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

// childRole tells a copy of the test binary which part to play.
const childRole = "DEED_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := child(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func child(role string, arguments []string) error {
	ledger, err := sqlite.Open(context.Background(), arguments[0], sqlite.Options{})
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(arguments[1], 10, 64)
	if err != nil {
		return err
	}
	switch role {
	case "race":
		err = childRaces(ledger, n)
	case "write":
		return childWrites(ledger, n) // until it is killed
	case "settle":
		err = childSettles(ledger, n)
	}
	return errors.Join(err, ledger.Close())
}

// spawn starts a child. It ends with the test at the latest.
func spawn(t *testing.T, role string, arguments ...any) (*exec.Cmd, *bufio.Scanner, io.WriteCloser) {
	t.Helper()
	texts := make([]string, len(arguments))
	for i, a := range arguments {
		texts[i] = fmt.Sprint(a)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], texts...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out), in
}

const sharedKey = "the-key-of-all-processes"

// childRaces claims the one key from fifty goroutines and says who won.
func childRaces(ledger *sqlite.Ledger, process int64) error {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed error
	for i := range int64(50) {
		group.Go(func() {
			o := newBenchOperation(process*1000 + i)
			op := o.begin.Put[0]
			op.Key.Text = sharedKey
			o.scope.Keys[0].Text = sharedKey
			view, err := ledger.Transact(context.Background(), o.scope, func(view deed.View) (deed.Change, error) {
				if view.Operation != nil {
					return deed.Change{}, errTaken
				}
				return o.begin, nil
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				fmt.Println("won", op.ID)
			case errors.Is(err, errTaken):
				fmt.Println("saw", view.Operation.ID)
			default:
				failed = err
			}
		})
	}
	group.Wait()
	return failed
}

var errTaken = errors.New("taken")

func TestOneOfAllProcessesClaimsAKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	type running struct {
		*exec.Cmd
		out *bufio.Scanner
		in  io.WriteCloser
	}
	var children []running
	for i := range 4 {
		// They also create the ledger in each other's presence.
		cmd, out, in := spawn(t, "race", path, i)
		children = append(children, running{cmd, out, in})
	}
	for _, c := range children {
		if !c.out.Scan() || c.out.Text() != "ready" {
			t.Fatalf("a process did not start: %q", c.out.Text())
		}
	}
	for _, c := range children {
		fmt.Fprintln(c.in, "go")
	}
	named := map[string]int{}
	won := 0
	for _, c := range children {
		for c.out.Scan() {
			verb, id, _ := strings.Cut(c.out.Text(), " ")
			named[id]++
			if verb == "won" {
				won++
			}
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	total := 0
	for _, n := range named {
		total += n
	}
	if won != 1 || len(named) != 1 || total != 200 {
		t.Errorf("%d won; the operations seen are %v", won, named)
	}
}

// childSettles settles an operation when told to, as the process does that
// holds its lease.
func childSettles(ledger *sqlite.Ledger, n int64) error {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	o := newBenchOperation(n)
	_, err := ledger.Transact(context.Background(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) { return o.settle, nil })
	return err
}

func TestADuplicateHearsOfTheSettlementInAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger := openAt(t, path, sqlite.Options{})
	o := newBenchOperation(1)
	if _, err := ledger.Transact(t.Context(), o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil }); err != nil {
		t.Fatal(err)
	}
	cmd, out, in := spawn(t, "settle", path, 1)
	if !out.Scan() {
		t.Fatal("the process did not start")
	}
	heard := make(chan error, 1)
	go func() {
		version, err := ledger.Watch(t.Context(), benchTenant, o.id(), 1)
		if err == nil && version != 2 {
			err = fmt.Errorf("version %d", version)
		}
		heard <- err
	}()
	fmt.Fprintln(in, "go")
	if err := <-heard; err != nil {
		t.Error(err)
	}
	view, err := ledger.Load(t.Context(), deed.Scope{Tenant: benchTenant, Keys: o.scope.Keys})
	if err != nil || view.Operation.Status != deed.StatusCommitted {
		t.Errorf("after it was heard of: %v, %v", view.Operation, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// childWrites begins and settles operations from eight goroutines and says of
// each write when it was acknowledged.
func childWrites(ledger *sqlite.Ledger, from int64) error {
	var mu sync.Mutex
	said := func(verb string, id deed.OperationID) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(verb, id)
	}
	failed := make(chan error)
	for worker := range int64(8) {
		go func() {
			for n := from + worker; ; n += 8 {
				o := newBenchOperation(n)
				if _, err := ledger.Transact(context.Background(), o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil }); err != nil {
					failed <- err
					return
				}
				said("begun", o.id())
				if _, err := ledger.Transact(context.Background(), deed.Scope{Tenant: benchTenant, ID: o.id()}, func(deed.View) (deed.Change, error) { return o.settle, nil }); err != nil {
					failed <- err
					return
				}
				said("settled", o.id())
			}
		}()
	}
	return <-failed
}

func TestNoAcknowledgedWriteIsLostWhenTheWriterIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	random := rand.New(rand.NewPCG(1, 2))
	acknowledged := map[deed.OperationID]string{}
	const kills = 12
	for kill := range kills {
		cmd, out, _ := spawn(t, "write", path, 1+kill*1_000_000)
		if !out.Scan() {
			t.Fatalf("the process did not write: %v", cmd.Wait())
		}
		timer := time.AfterFunc(time.Duration(random.IntN(120))*time.Millisecond, func() { cmd.Process.Kill() })
		for more := true; more; more = out.Scan() {
			verb, id, whole := strings.Cut(out.Text(), " ")
			if whole && len(id) == 29 { // a line may be cut by the kill
				acknowledged[deed.OperationID(id)] = verb
			}
		}
		cmd.Wait()
		timer.Stop()
		checkAcknowledged(t, path, acknowledged)
	}
	if len(acknowledged) < kills {
		t.Errorf("only %d operations were acknowledged: the test says nothing", len(acknowledged))
	}
}

// checkAcknowledged opens the ledger and looks for all that was promised.
func checkAcknowledged(t *testing.T, path string, acknowledged map[deed.OperationID]string) {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, verb := range acknowledged {
		if why := missing(t.Context(), ledger, id, verb == "settled"); why != "" {
			t.Errorf("%s was %s: %s", id, verb, why)
		}
	}
	if err := ledger.Close(); err != nil {
		t.Error(err)
	}
	checkIntegrity(t, path)
}

// missing says what of an acknowledged operation is not there, or "".
func missing(ctx context.Context, store deed.Store, id deed.OperationID, settled bool) string {
	view, err := store.Load(ctx, deed.Scope{Tenant: benchTenant, ID: id})
	if err != nil {
		return err.Error()
	}
	op := view.Operation
	switch {
	case op == nil:
		return "it is lost"
	case op.Arguments == nil:
		return "its arguments are lost"
	case settled && (op.Status != deed.StatusCommitted || op.Receipt() == nil || op.Result == nil):
		return "its settlement is lost"
	}
	want := 1
	if op.Status == deed.StatusCommitted {
		want = 2
	}
	events, err := store.Events(ctx, deed.EventQuery{Tenant: benchTenant, Operation: id})
	if err != nil || len(events) != want {
		return fmt.Sprintf("%d events, want %d: %v", len(events), want, err)
	}
	return ""
}
