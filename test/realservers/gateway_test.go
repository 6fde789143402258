// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package realservers_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const key = "realservers:the-one-action:1"

// note is what the gateway says about an operation in _meta["deed/operation"].
type note struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Decision string `json:"decision"`
	Replayed bool   `json:"replayed"`
}

// gateway is one ledger with a server behind it. Every command line that it
// gives starts a new deed process on the same ledger.
type gateway struct {
	effect effect
	folder string
	ledger string
	log    string
}

func newGateway(t *testing.T, e effect) gateway {
	t.Helper()
	state := t.TempDir()
	return gateway{effect: e, folder: newFolder(t), ledger: filepath.Join(state, "ledger.db"), log: filepath.Join(state, "relay.log")}
}

// line is the command line of a deed process. With hold, the server's answers
// to tool calls never reach deed.
func (g gateway) line(t *testing.T, hold bool) []string {
	t.Helper()
	server := relayed(t, g.log, hold, g.effect.command(t, g.folder))
	return append([]string{deedProgram, "mcp", "--name", g.effect.server, "--ledger", g.ledger, "--"}, server...)
}

func (g gateway) arguments() map[string]any {
	arguments := maps.Clone(g.effect.arguments(g.folder))
	arguments["idempotency_key"] = key
	return arguments
}

// mustHaveReached fails the test when the server has not received the call exactly so often.
func (g gateway) mustHaveReached(t *testing.T, times int) {
	t.Helper()
	if calls := count(t, g.log, "called "+g.effect.tool); calls != times {
		t.Fatalf("the server received %s %d times, want %d", g.effect.tool, calls, times)
	}
}

func noteOf(t *testing.T, meta any) note {
	t.Helper()
	data, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	var members struct {
		Operation note `json:"deed/operation"`
	}
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatalf("read the operation in %s: %v", data, err)
	}
	if members.Operation.ID == "" {
		t.Fatalf("the answer names no operation: %s", data)
	}
	return members.Operation
}

func TestACallIsJournaledAndReplayedByTheNextGateway(t *testing.T) {
	for _, e := range effects {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, e)
			e.lay(t, g.folder)
			first := connect(t, g.line(t, false))
			executed := noteOf(t, first.mustCall(t, e, g.arguments()).Meta)
			e.mustBeSeen(t, g.folder, "after the first call")
			if executed.Replayed || executed.Status != "committed" {
				t.Errorf("the first call is %+v, want committed and not replayed", executed)
			}
			if err := first.Close(); err != nil {
				t.Fatalf("close the first gateway: %v", err)
			}

			e.lay(t, g.folder)
			second := connect(t, g.line(t, false))
			replayed := noteOf(t, second.mustCall(t, e, g.arguments()).Meta)
			e.mustNotBeSeen(t, g.folder, "again by a replay")
			g.mustHaveReached(t, 1)
			if !replayed.Replayed || replayed.ID != executed.ID {
				t.Errorf("the second call is %+v, want a replay of %s", replayed, executed.ID)
			}
		})
	}
}

func TestAGatewayKilledBetweenEffectAndAnswerNeverRepeatsTheEffect(t *testing.T) {
	for _, e := range effects {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, e)
			e.lay(t, g.folder)
			killed := connect(t, g.line(t, true))
			answer := make(chan error, 1)
			go func() {
				_, err := killed.CallTool(t.Context(), &mcp.CallToolParams{Name: e.tool, Arguments: g.arguments()})
				answer <- err
			}()
			awaitLine(t, g.log, "answered "+e.tool)
			e.mustBeSeen(t, g.folder, "although the server has answered")
			if err := killed.server.Process.Kill(); err != nil {
				t.Fatalf("kill the gateway: %v", err)
			}
			if err := <-answer; err == nil {
				t.Fatal("the client received an answer from a gateway that never had one")
			}

			e.lay(t, g.folder)
			restarted := connect(t, g.line(t, false))
			result, err := restarted.CallTool(t.Context(), &mcp.CallToolParams{Name: e.tool, Arguments: g.arguments()})
			if err != nil {
				t.Fatalf("repeat the call: %v", err)
			}
			e.mustNotBeSeen(t, g.folder, "a second time after the kill")
			g.mustHaveReached(t, 1)
			// The lease of the dead process may still run; it is never failed, never done.
			if got := noteOf(t, result.Meta); !result.IsError || (got.Status != "uncertain" && got.Status != "executing") {
				t.Errorf("the repeated call is %+v with error %t, want uncertain or executing with an error", got, result.IsError)
			}
		})
	}
}

func TestTheInspectorsRepeatedCallIsReplayed(t *testing.T) {
	for _, e := range effects {
		if e.tool != "move_file" && e.tool != "create_entities" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, e)
			e.lay(t, g.folder)
			executed := inspect(t, g.line(t, false), e, g.arguments())
			e.mustBeSeen(t, g.folder, "after the first call")
			e.lay(t, g.folder)
			replayed := inspect(t, g.line(t, false), e, g.arguments())
			e.mustNotBeSeen(t, g.folder, "again by a replay")
			g.mustHaveReached(t, 1)
			first, second := noteOf(t, executed["_meta"]), noteOf(t, replayed["_meta"])
			if first.Replayed || !second.Replayed || first.ID != second.ID {
				t.Errorf("the calls are %+v and %+v, want the second to replay the first", first, second)
			}
		})
	}
}
