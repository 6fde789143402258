// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/test/pgcluster"
)

// throughTheProxy is the door of a plain HTTP client.
func throughTheProxy(ctx context.Context, base, key, tool string, arguments object) verdict {
	body, err := json.Marshal(arguments)
	if err != nil {
		return verdict{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/http/pay/tools/"+tool, strings.NewReader(string(body)))
	if err != nil {
		return verdict{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := plain().Do(req)
	if err != nil {
		return verdict{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	var doc struct{ ID, Type, Title, Detail string }
	if err == nil {
		err = json.Unmarshal(said, &doc)
	}
	if err == nil && resp.StatusCode >= 400 && (doc.Type == "" || doc.Title == "" || doc.Detail == "") {
		err = fmt.Errorf("%s with no problem that can be read: %s", resp.Status, said)
	}
	h := resp.Header
	return verdict{decision: h.Get("Deed-Decision"), reason: h.Get("Deed-Reason"), status: h.Get("Deed-Status"), remote: doc.ID, err: err}
}

// ailment is what keeps a database from taking writes.
type ailment struct {
	name string
	// strikes makes it so and returns what ends it.
	strikes func(f *fleet) (ends func())
	// late: some writes may still find room.
	late bool
}

func ailments() []ailment {
	return []ailment{
		{name: "read-only", strikes: (*fleet).readOnly},
		{name: "full", strikes: (*fleet).fillUp, late: true},
	}
}

// readOnly makes every transaction of the database one that only reads.
func (f *fleet) readOnly() (ends func()) {
	f.Helper()
	again := fmt.Sprintf(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'`, f.database)
	for _, sql := range []string{`ALTER DATABASE ` + f.database + ` SET default_transaction_read_only = on`, again} {
		f.must(f.server.Exec(context.Background(), "postgres", sql))
	}
	return func() {
		for _, sql := range []string{`ALTER DATABASE ` + f.database + ` RESET default_transaction_read_only`, again} {
			f.must(f.server.Exec(context.Background(), "postgres", sql))
		}
	}
}

// A database that is there and takes no writes, before a call and amid one:
// nothing new is sent, what was done stays known, and no receipt is lost.
func TestADatabaseThatTakesNoWritesRefusesWhatIsNewAndLosesNothing(t *testing.T) {
	all := append(doors(), door{"proxy", throughTheProxy})
	for _, sick := range ailments() {
		for _, d := range []door{all[0], all[2], all[3]} {
			t.Run(sick.name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, inPostgreSQL, cluster, 0, nil)
				if sick.late {
					f.inLittleRoom()
				}
				f.withProxy(2, nil)
				key := func(order string) string { return "charge:" + order + ":first" }
				done := f.charge(d, 0, key("done"), "done")
				f.oneExecuted([]verdict{done})
				f.misbehave(provider.Fault{Fault: provider.Hang, Tool: "pay.charge"})
				answered := make(chan verdict, 1)
				go func() { answered <- f.charge(d, 0, key("amid"), "amid") }()
				f.must(f.fixture.AwaitHeld(t.Context(), "pay.charge", 1))

				ends := sick.strikes(f)
				refused := ""
				var sent []string
				for n := 0; refused == "" && n < 2000; n++ {
					order := fmt.Sprintf("new-%d", n)
					switch told := f.charge(d, n%2, key(order), order); {
					case told.err == nil && told.decision == "denied" && told.reason == "store_unavailable":
						refused = order
					case told.err == nil && (told.decision == "execute" || told.decision == "uncertain") && sick.late:
						// Its begin, and perhaps its receipt, found room.
						sent = append(sent, order)
					default:
						t.Fatalf("a new call was answered %s", told)
					}
				}
				f.counted(refused, 0, 0)
				if told := f.charge(d, 1, key("done"), "done"); told.decision != "replay" || told.remote != done.remote {
					t.Errorf("what was done before was answered %s", told)
				}
				read := callV1(t.Context(), "http://"+f.addresses[1], "", "ticket.search", object{"q": "anything"})
				if read.err != nil || read.decision != "execute" {
					t.Errorf("a read was answered %s", read)
				}
				f.must(f.fixture.Release(t.Context(), ""))
				told := <-answered
				if told.decision != "uncertain" && told.status != "uncertain" && (!sick.late || told.status != "committed") {
					t.Errorf("the caller whose receipt could not be written was told %s %s", told, told.status)
				}

				ends()
				f.settles(d, 1, key("amid"), "amid", "replay")
				f.settles(d, 1, key(refused), refused, "execute")
				for _, order := range sent {
					f.settles(d, 0, key(order), order, "replay")
					f.counted(order, 1, 1)
				}
				for _, order := range []string{"done", "amid", refused} {
					f.counted(order, 1, 1)
				}
			})
		}
	}
}

// A replica of the database takes no writes until it is promoted.
func TestAGatewayOnAReplicaOfTheDatabaseAnswersAndWritesNothing(t *testing.T) {
	server := ownCluster(t)
	f := newFleet(t, inPostgreSQL, server, 0, nil)
	f.withProxy(1, nil)
	d := doors()[0]
	done := f.charge(d, 0, "charge:done:first", "done")
	f.oneExecuted([]verdict{done})
	replica, err := server.Replica(pgcluster.Memory(), "second")
	f.must(err)
	t.Cleanup(func() { f.must(replica.Stop()) })
	f.must(server.AwaitSync(t.Context(), "second"))
	f.place = replica.URL(f.database)
	f.withProxy(1, nil)
	if told := f.charge(d, 1, "charge:done:first", "done"); told.decision != "replay" || told.remote != done.remote {
		t.Errorf("what was done before was answered %s", told)
	}
	if told := f.charge(d, 1, "charge:new:first", "new"); told.decision != "denied" || told.reason != "store_unavailable" {
		t.Errorf("a new call was answered %s", told)
	}
	f.counted("new", 0, 0)
	f.gateways[0].Kill()
	f.must(server.Kill())
	f.must(replica.Promote())
	f.settles(d, 1, "charge:new:first", "new", "execute")
	f.counted("new", 1, 1)
	f.counted("done", 1, 1)
}
