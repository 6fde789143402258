// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"
	"testing"

	"github.com/deed-run/deed/faultkit/provider"
)

// client is who acts in a trial: a runtime that gives its own keys, or an agent.
type client string

const runtime client = "runtime"

func clients() []client { return []client{runtime, client(naive), client(timid)} }

// trial is one intended action under one fault and one crash of the gateway.
type trial struct {
	place  place
	client client
	fault  provider.Fault
	crash  string
	// reworded counts the free text as part of the effect, so that only the
	// matter ties two wordings together.
	reworded bool
}

func (c trial) String() string {
	fault, rules := string(c.fault.Fault), "wordless"
	if c.fault.Params.Commit {
		fault += "+commit"
	}
	if c.reworded {
		rules = "reworded"
	}
	return fmt.Sprintf("%s/%s/%s/%s/%s", fault, c.crash, c.place, c.client, rules)
}

// acts says whether the fault takes effect.
func (c trial) acts() bool {
	switch c.fault.Fault {
	case provider.Reject4xx, provider.RejectPrecommit:
		return false
	case provider.IsError, provider.RPCErrorFault:
		return c.fault.Params.Commit
	}
	return true
}

// promised leaves out what docs/guarantees.md does not promise of a client that
// takes another key and other words: that it is held back after a tool's own error,
// and after it was told that an action about the same matter is done.
func (c trial) promised() bool {
	return !(c.reworded && c.client == client(naive) && (c.fault.Fault == provider.IsError || c.crash == "P4"))
}

// faults pairs what goes wrong at the provider with where the gateway dies. With
// a crash only the faults matter that end an attempt in different ways.
func faults() []trial {
	acting := provider.FaultParams{Commit: true}
	ends := []provider.Fault{
		{Fault: provider.OK}, {Fault: provider.CommitDrop}, {Fault: provider.Reject4xx}, {Fault: provider.IsError, Params: acting},
	}
	var list []trial
	for _, f := range append(ends[:len(ends):len(ends)],
		provider.Fault{Fault: provider.HalfJSON}, provider.Fault{Fault: provider.Garbage}, provider.Fault{Fault: provider.Commit5xx},
		provider.Fault{Fault: provider.Commit404}, provider.Fault{Fault: provider.RejectPrecommit}, provider.Fault{Fault: provider.IsError},
		provider.Fault{Fault: provider.RPCErrorFault, Params: acting}, provider.Fault{Fault: provider.RPCErrorFault},
	) {
		list = append(list, trial{fault: f, crash: "none"})
	}
	for _, f := range ends {
		for _, point := range []string{"P1", "P2", "P3", "P4"} {
			list = append(list, trial{fault: f, crash: point})
		}
	}
	return list
}

// trialPlaces are three places, one for each door of models; the ledgers and the
// numbers of gateways take turns. A gateway of two that goes on while the other is
// dead belongs to the crash.
func trialPlaces(i int) []place {
	var list []place
	for _, d := range doors() {
		if !d.mcp() {
			continue
		}
		pair := []place{{ledger: inSQLite, replicas: 1}, {ledger: inPostgreSQL, replicas: 1}, {ledger: inPostgreSQL, replicas: 2}, {ledger: inSQLite, replicas: 2}}[(i+len(list))%4]
		pair.door = d
		list = append(list, pair)
	}
	return list
}

// trials is the matrix; without the campaign each pair of fault and crash meets
// one of the nine pairs of door and client, in turn.
func trials() []trial {
	var list []trial
	for i, c := range faults() {
		for j, p := range trialPlaces(i) {
			for k, who := range clients() {
				for l, reworded := range []bool{false, true} {
					c.place, c.client, c.reworded = p, who, reworded
					chosen := j == i%3 && k == (i/3+j)%3 && l == i%2
					if c.promised() && (campaign() || chosen) {
						list = append(list, c)
					}
				}
			}
		}
	}
	return list
}

func TestOneIntendedActionTakesEffectAtMostOnce(t *testing.T) {
	for _, c := range trials() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.play(t)
		})
	}
}

func (c trial) play(t *testing.T) {
	rules := wordless("pay.charge")
	if c.reworded {
		rules = business()
	}
	w := prepare(t, c.place, setup{tools: rules, skewed: true})
	var env []string
	if c.crash != "none" {
		env = append(env, "DEED_CRASH_AT="+c.crash)
	}
	w.start(env...)
	fault := c.fault
	fault.Times = 1
	w.order(fault)
	end := c.act(w)
	_, effects := w.books("order-1")
	done, doubtful := 0, 0
	for _, op := range w.list("") {
		switch op.Effective {
		case "committed":
			done++
		case "uncertain":
			doubtful++
		}
	}
	switch {
	case effects > 1:
		w.Errorf("one intended action took effect %d times", effects)
	case end.done && effects != 1:
		w.Errorf("told as done, and %d effects: %q", effects, end.text)
	case effects == 1 && done+doubtful == 0:
		w.Error("the effect is in no record")
	case effects == 0 && done > 0:
		w.Error("recorded as committed without an effect")
	case c.fault.Fault == provider.OK && c.crash != "P2" && c.crash != "P3" && !end.done:
		w.Errorf("nothing was in doubt, and the %s did not finish: %q", c.client, end.text)
	case c.acts() && c.crash == "none" && effects != 1:
		w.Errorf("%d effects of a call that reached the provider", effects)
	}
}

// act lets the client have its turns: a second one when the first ended without
// a result, as a user asks for what is not done.
func (c trial) act(w *world) conclusion {
	if c.client == runtime {
		return w.insist(orderIntent("order-1"))
	}
	end := w.pursue(agent(c.client), orderIntent("order-1"))
	if end.done {
		return end
	}
	turn := "first"
	if agent(c.client) == naive {
		turn = "second"
	}
	return w.resume(agent(c.client), orderIntent("order-1"), turn)
}

// insist calls three times under the runtime's own key, whatever comes back.
func (w *world) insist(in intent) conclusion {
	var end conclusion
	for range 3 {
		step := w.send(w.running, keyed("run-1:step-1:charge", in.tool, object{in.subject: in.op, "amount": 100}))
		end.steps = append(end.steps, step)
		end.done = end.done || step.String() == committed || step.String() == replay
		if pause, again := toldToRepeat(step.Result.Texts); again {
			w.wait(pause)
		}
		w.revive(step)
	}
	return end
}
