// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
)

// column is a class of providers reached in one way through one door.
type column struct {
	class class
	by    transport
	door  faultkit.Door
}

func (c column) String() string { return fmt.Sprintf("%s/%s/%s", c.class.name, c.by, c.door) }

// columns cover every class over a connector and over MCP, and every door; a
// campaign takes every combination.
func columns() (list []column) {
	for i, class := range classes() {
		for j, by := range []transport{byConnector, byURL, byCommand} {
			for k, door := range []faultkit.Door{faultkit.HTTP, faultkit.Stdio} {
				covers := j == 0 && k == i%2 || j == 1+i%2 && k == (i+1)%2
				if covers || campaign() {
					list = append(list, column{class, by, door})
				}
			}
		}
	}
	return list
}

func TestEveryMishapHasAtMostOneEffectAndAnExactOutcome(t *testing.T) {
	for _, c := range columns() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			agrees(t, c.class.name+" over "+string(c.by), newTrial(t, c).play())
		})
	}
}

// trial plays every mishap against one provider, each on an action of its own.
type trial struct {
	*gateway
	column
	fixture *faultkit.Fixture
	rows    map[string][]string
}

func newTrial(t *testing.T, c column) *trial {
	t.Helper()
	flags := append([]string{"--underscores"}, c.class.flags...)
	fixture, err := faultkit.StartFixture(context.Background(), []string{built.fixture}, filepath.Join(t.TempDir(), "provider"), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fixture.Close() })
	tr := &trial{column: c, fixture: fixture, rows: map[string][]string{}}
	tr.gateway = newGateway(t, c.door, "shop", c.class.configuration(c.by, fixture))
	return tr
}

// say adds to what is known of a mishap.
func (tr *trial) say(m mishap, text string) { tr.rows[m.name] = append(tr.rows[m.name], text) }

func (tr *trial) act(m mishap) note {
	tr.Helper()
	return tr.call("ticket_create", "ticket:"+m.name+":first", map[string]any{"id": m.name, "title": "A ticket about " + m.name})
}

// play returns a line for each mishap: the first answer, the answer to a
// repetition, what look-ups alone made of it, the answer to a last repetition,
// and what was counted at the provider.
func (tr *trial) play() string {
	tr.Helper()
	for _, m := range mishaps() {
		tr.strike(m)
	}
	for _, m := range mishaps() {
		tr.say(m, tr.again(m))
	}
	if tr.class.settles {
		await(tr.T, "look-ups settle everything", func() bool { return tr.open() == 0 })
	}
	tr.honest()
	for _, m := range mishaps() {
		op := tr.operations()["ticket:"+m.name+":first"]
		tr.say(m, fmt.Sprintf("%s by %s", op.Status, op.by()))
		tr.say(m, tr.act(m).String())
	}
	tr.honest()
	if tr.class.name == "findable-lagging" {
		tr.sawAbsence()
	}
	return tr.table()
}

// again is the answer to a repetition. Where look-ups settle, it depends on the
// machine's speed whether one has found the effect by then.
func (tr *trial) again(m mishap) string {
	tr.Helper()
	answer := tr.act(m)
	if tr.class.settles && (answer.Decision == "uncertain" || answer.Reason == "result_discarded") {
		return "not sent"
	}
	return answer.String()
}

// lateBy is far beyond the rules' late, of 1 ms.
const lateBy = 250 * time.Millisecond

// strike makes the first call of an action, with the mishap.
func (tr *trial) strike(m mishap) {
	tr.Helper()
	if m.crash != "" {
		tr.start("DEED_CRASH_AT=" + m.crash)
		tr.say(m, tr.act(m).String())
		tr.kill()
		return
	}
	if tr.running == nil {
		tr.start()
	}
	tr.must(tr.fixture.SetFaults(tr.Context(), provider.Fault{Fault: m.fault, Tool: "ticket.create", Times: 1}))
	tr.say(m, tr.act(m).String())
	if m.held {
		time.Sleep(lateBy) // until nobody waits for the answer any more
		tr.must(tr.fixture.Release(tr.Context(), "ticket.create"))
		_, err := tr.fixture.Effects(tr.Context(), provider.Selection{Op: m.name, AtLeast: 1})
		tr.must(err)
	}
}

// open counts what is not known yet, and checks on the way that nothing that
// happened is called failed.
func (tr *trial) open() (n int) {
	tr.Helper()
	tr.honest()
	for _, op := range tr.operations() {
		if op.Status == deed.StatusUncertain || op.Status == deed.StatusExecuting {
			n++
		}
	}
	return n
}

// honest fails the test when an operation is failed although it has an effect.
func (tr *trial) honest() {
	tr.Helper()
	all := tr.operations()
	for _, m := range mishaps() {
		op := all["ticket:"+m.name+":first"]
		if effects := tr.effects(m); effects > 1 || effects > 0 && op.Status == deed.StatusFailed {
			tr.Errorf("%s is %s (%s) and has %d effects", m.name, op.Status, op.Reason, effects)
		}
	}
}

func (tr *trial) effects(m mishap) int {
	tr.Helper()
	list, err := tr.fixture.Effects(tr.Context(), provider.Selection{Op: m.name})
	tr.must(err)
	return len(list)
}

// sawAbsence fails the test when no look-up came before the index had caught up:
// then the test has shown nothing about a lagging index.
func (tr *trial) sawAbsence() {
	tr.Helper()
	early := 0
	for _, op := range tr.operations() {
		if op.Status != deed.StatusCommitted {
			continue
		}
		var shown struct {
			Events []struct {
				Data struct{ Verdict deed.VerdictKind }
			}
		}
		tr.must(json.Unmarshal(tr.deed("ops", "show", string(op.ID), "--json"), &shown))
		for _, event := range shown.Events {
			if event.Data.Verdict == deed.VerdictAbsent {
				early++
			}
		}
	}
	if early == 0 {
		tr.Error("no look-up found the index lagging")
	}
}

func (tr *trial) table() string {
	tr.Helper()
	all := tr.operations()
	var out strings.Builder
	out.WriteString("mishap | first | again | looked up | at last | attempts | requests | effects\n")
	for _, m := range mishaps() {
		requests, err := tr.fixture.Requests(tr.Context(), provider.Selection{Op: m.name})
		tr.must(err)
		op := all["ticket:"+m.name+":first"]
		fmt.Fprintf(&out, "%s | %s | %d | %d | %d\n", m.name, strings.Join(tr.rows[m.name], " | "), op.Attempt, len(requests), tr.effects(m))
	}
	return out.String()
}
