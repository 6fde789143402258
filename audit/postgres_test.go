// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/test/pgcluster"
)

func TestALedgerOnPostgreSQLIsLoggedAlike(t *testing.T) {
	cluster, err := pgcluster.Start(pgcluster.Memory())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	address, err := cluster.Database(t.Context(), "ledger")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *postgres.Ledger {
		ledger, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return ledger
	}
	ledger := open()
	rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{}})
	if err != nil {
		t.Fatal(err)
	}
	refund := call("refund:1042:first", `{"order":"1042","amount":12}`)
	do(t, rt, refund, nil)
	do(t, rt, refund, nil)
	if err := rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Close(); err != nil { // what was batched is there now
		t.Fatal(err)
	}
	ledger = open()
	defer ledger.Close()
	l := newLog(t)
	f := audit.Follower{Ledger: ledger, Tenant: "acme", Dir: l.dir, Key: l.private, Trail: time.Hour}
	if n, _, err := f.Append(t.Context()); n != 0 || err != nil {
		t.Errorf("of events of this minute %d were logged, %v", n, err)
	}
	f.Trail = 0
	if n, _, err := f.Append(t.Context()); n == 0 || err != nil {
		t.Errorf("%d were logged, %v", n, err)
	}
	verify := func() audit.Report {
		report, err := l.open(t).Verify(t.Context(), ledger, "acme")
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if got := verify(); got.Found != 0 || got.Waiting != 0 || got.Begun != 1 || got.Replays != 1 {
		t.Errorf("the report is %+v", got)
	}
	if err := cluster.Exec(t.Context(), "ledger", `UPDATE deed_operations SET receipts = replace(receipts, 're_1', 're_2')`); err != nil {
		t.Fatal(err)
	}
	if got := verify(); got.Found == 0 || got.Findings[0].Kind != audit.ReceiptsChanged {
		t.Errorf("with another receipt the report is %+v", got)
	}
}
