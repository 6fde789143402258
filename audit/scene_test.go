// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
	"github.com/deed-run/deed/sqlite"
)

// scene is a ledger in a file and a log about it.
type scene struct {
	log
	path   string
	ledger *sqlite.Ledger
	// refund was done, repeated twice, and asked for with another amount; doubt
	// is uncertain.
	refund, doubt deed.OperationID
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{log: newLog(t), path: filepath.Join(t.TempDir(), "ledger.db")}
	s.reopen(t)
	rt, err := deed.New(deed.Options{Store: s.ledger, Policy: deed.FixedPolicy{}})
	if err != nil {
		t.Fatal(err)
	}
	refund := call("refund:1042:first", `{"order":"1042","amount":12}`)
	s.refund = do(t, rt, refund, nil)
	do(t, rt, refund, nil)
	do(t, rt, refund, nil)
	do(t, rt, call("refund:1042:first", `{"order":"1042","amount":13}`), nil)
	s.doubt = do(t, rt, call("refund:1043:first", `{"order":"1043","amount":9}`), errors.New("the connection was cut"))
	if err := rt.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.reopen(t) // what was batched is in the file now
	return s
}

func call(key, arguments string) deed.Call {
	return deed.Call{
		Principal: deed.Principal{Tenant: "acme", Actor: "support", Rights: []deed.Right{deed.RightCall}},
		Tool:      "payments/refund", Key: deed.OperationKey(key), Arguments: []byte(arguments),
	}
}

func do(t *testing.T, rt *deed.Runtime, c deed.Call, fails error) deed.OperationID {
	t.Helper()
	answer, err := rt.Do(t.Context(), c, func(context.Context, deed.Attempt) (deed.Receipt, error) {
		return deed.Receipt{RemoteSystem: "payments", RemoteID: "re_1"}, fails
	})
	if err != nil || answer.Operation == nil {
		t.Fatalf("%v, %v", answer, err)
	}
	return answer.Operation.ID
}

func (s *scene) reopen(t *testing.T) {
	t.Helper()
	if s.ledger != nil {
		if err := s.ledger.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ledger, err := sqlite.Open(t.Context(), s.path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.ledger = ledger
	t.Cleanup(func() { _ = ledger.Close() })
}

func (s *scene) follower() audit.Follower {
	return audit.Follower{Ledger: s.ledger, Tenant: "acme", Dir: s.dir, Key: s.private}
}

func (s *scene) append(t *testing.T) int64 {
	t.Helper()
	n, _, err := s.follower().Append(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// change is what somebody does who may write the file.
func (s *scene) change(t *testing.T, sql string) {
	t.Helper()
	if err := s.ledger.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite3.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, trigger := range []string{"events_stay", "events_remain", "receipts_stay", "receipts_remain"} {
		sql = "DROP TRIGGER " + trigger + ";" + sql
	}
	if err := errors.Join(db.Exec(sql), db.Close()); err != nil {
		t.Fatal(err)
	}
	s.reopen(t)
}

func (s *scene) verify(t *testing.T) audit.Report {
	t.Helper()
	report, err := s.open(t).Verify(t.Context(), s.ledger, "acme")
	if err != nil {
		t.Fatal(err)
	}
	return report
}
