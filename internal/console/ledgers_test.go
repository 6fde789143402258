// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/sqlite"
	"github.com/deed-run/deed/test/pgcluster"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := database.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// onPostgreSQL is in the names of tests that play on PostgreSQL.
const onPostgreSQL = "OnPostgreSQL"

// TestOnPostgreSQL plays the tests of what people see and decide once more, where
// the ledger is in PostgreSQL.
func TestOnPostgreSQL(t *testing.T) {
	for _, test := range []struct {
		name string
		play func(*testing.T)
	}{
		{"overview", TestOverviewSaysWhatNeedsAPerson}, {"look-ups that gave up", TestWhatNoLookUpSettlesComesFirst},
		{"contradictions", TestContradictionsAreFoundHoweverOldTheyAre},
		{"the filter", TestLedgerFiltersByItsAddress}, {"pages", TestLedgerPagesByKey}, {"a failed query", TestAFailedQueryIsNeverAnEmptyAnswer},
		{"an operation", TestOperationPageTellsEverything}, {"resolving", TestResolving}, {"probing", TestProbing}, {"cancelling and reopening", TestCancellingAndReopening},
		{"deciding", TestDecidingAProposal}, {"editing", TestEditAndApproveShowsTheSuccessor}, {"editing against the schema", TestAnEditIsRefusedInWordsAndChangesNothing}, {"somebody else was first", TestSomebodyElseWasFirst},
		{"one's own request", TestNobodyApprovesTheirOwnRequest}, {"a quorum", TestTwoMustAgree}, {"together", TestApprovingTogether},
		{"high risk", TestHighRiskWantsTheToolTyped}, {"GET", TestGetChangesNothing}, {"a lapsed proposal", TestALapsedProposalWaitsForNobody},
		{"budgets", TestBudgets}, {"conflicts", TestConflictsShowWhatIsKnown}, {"hostile text", TestHostileTextIsInert}, {"export", TestExport},
		{"what is new", TestLivePagesSayWhatIsNew}, {"what moves on", TestAnOperationThatMovesOnSaysSo},
		{"decided elsewhere", TestAProposalDecidedElsewhereIsSaidNotVanished}, {"streams end", TestStreamsEndWithTheSessionAndTheConsole},
		{"sessions", TestSessions}, {"sessions of several gateways", TestASessionIsKnownAtEveryGatewayAndEndsAtAll},
		{"sessions by token", TestASessionMayDoWhatItsTokenMayDoNow}, {"a ledger that is away", TestALedgerThatTakesNoWritesCanBeLookedAt},
		{"without scripts", TestWithoutScripts}, {"in the browser", TestInTheBrowser},
	} {
		t.Run(test.name, test.play)
	}
}

// ledger is a store that is closed.
type ledger interface {
	deed.Store
	Close() error
}

// openLedger makes one of its own for a test.
func openLedger(t testing.TB, clock deed.Clock) ledger {
	t.Helper()
	var made ledger
	var err error
	if strings.Contains(t.Name(), onPostgreSQL) {
		made, err = postgres.Open(t.Context(), database.next(t), postgres.Options{Clock: clock})
	} else {
		made, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{Clock: clock})
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// server is a PostgreSQL that starts when the first test needs it.
type server struct {
	mu      sync.Mutex
	cluster *pgcluster.Cluster
	made    int
}

var database server

// next makes an empty database and returns its address.
func (s *server) next(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		var err error
		if s.cluster, err = pgcluster.Start(pgcluster.Memory()); err != nil {
			t.Fatal(err)
		}
	}
	s.made++
	name := fmt.Sprintf("pages_%d", s.made)
	if _, err := s.cluster.Database(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return s.cluster.URL(name)
}

func (s *server) stop() error {
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Stop()
}
