// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package linear_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/deed-run/deed/test/pgcluster"
)

const (
	historiesVariable = "DEED_HISTORIES"
	// checkLimit bounds the search for an order.
	checkLimit = 2 * time.Minute
)

func TestMain(m *testing.M) {
	if ledger := os.Getenv(workerVariable); ledger != "" {
		if err := runWorker(ledger); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// histories is how many are recorded on each ledger.
func histories(t *testing.T) int {
	t.Helper()
	text := os.Getenv(historiesVariable)
	if text == "" {
		return 4
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number of histories", historiesVariable, text)
	}
	return n
}

// sized is the n-th load: 8 to 32 clients on two or three processes.
func sized(n int, ledger string) load {
	return load{ledger: ledger, seed: uint64(n + 1), clients: 8 + 8*(n%4), calls: 8, processes: 2 + n%2, kills: 2}
}

// judge records histories and looks for an order of each.
func judge(t *testing.T, ledger func(t *testing.T, n int) string) {
	operations, kills, unanswered := 0, int64(0), 0
	answers := map[string]int{}
	for n := range histories(t) {
		r := record(t, sized(n, ledger(t, n)))
		for _, op := range r.history {
			answer := op.Output.(output).Answer
			if answer == "" {
				unanswered++
			}
			answers[op.Input.(input).Kind+" "+answer]++
		}
		operations, kills = operations+len(r.history), kills+r.killed.Load()
		for key, count := range r.effects {
			if count > 1 {
				t.Errorf("history %d: key %s had %d effects", n, key, count)
			}
		}
		result, info := porcupine.CheckOperationsVerbose(model(), r.history, checkLimit)
		if result != porcupine.Ok {
			t.Errorf("history %d of %d operations: no order explains it (%s); see %s", n, len(r.history), result, draw(t, n, info))
		}
	}
	t.Logf("%d operations, %d processes killed, %d operations unanswered: %v", operations, kills, unanswered, answers)
	if kills == 0 || answers["claim replay"] == 0 || answers["claim conflict"] == 0 || answers["claim granted"] == 0 {
		t.Error("the histories are too tame to prove anything")
	}
}

// draw writes a picture of a history that has no order.
func draw(t *testing.T, n int, info porcupine.LinearizationInfo) string {
	t.Helper()
	m := model()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("deed-history-%s-%d.html", filepath.Base(t.Name()), n))
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		return err.Error()
	}
	return path
}

func TestHistoriesOnSQLiteHaveAnOrder(t *testing.T) {
	judge(t, func(t *testing.T, n int) string { return filepath.Join(t.TempDir(), fmt.Sprintf("ledger-%d.db", n)) })
}

func TestHistoriesOnPostgreSQLHaveAnOrder(t *testing.T) {
	cluster := startCluster(t)
	judge(t, func(t *testing.T, n int) string { return database(t, cluster, fmt.Sprintf("history_%d", n)) })
}

// A wrong ledger must be told from a right one by the first histories.
func TestALedgerThatChecksAndThenInsertsIsCaught(t *testing.T) {
	for n := range 20 {
		l := sized(3, filepath.Join(t.TempDir(), "ledger.db"))
		l.bug, l.kills, l.seed = "check-then-insert", 0, uint64(1000+n)
		r := record(t, l)
		if porcupine.CheckOperationsTimeout(model(), r.history, checkLimit) == porcupine.Illegal {
			t.Logf("caught by history %d", n+1)
			return
		}
	}
	t.Error("twenty histories of a ledger that checks and then inserts look right")
}

func startCluster(t *testing.T) *pgcluster.Cluster {
	t.Helper()
	cluster, err := pgcluster.Start(pgcluster.Memory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func database(t *testing.T, cluster *pgcluster.Cluster, name string) string {
	t.Helper()
	address, err := cluster.Database(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}
