// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package realservers_test

import (
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestWithoutDeedARepeatedCallIsAppliedAgain(t *testing.T) {
	for _, e := range effects {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			folder := newFolder(t)
			server := connect(t, e.command(t, folder))
			e.lay(t, folder)
			e.mustNotBeSeen(t, folder, "before any call")
			server.mustCall(t, e, e.arguments(folder))
			e.mustBeSeen(t, folder, "after the first call")
			e.lay(t, folder)
			server.mustCall(t, e, e.arguments(folder))
			e.mustBeSeen(t, folder, "after the second call")
		})
	}
}

func TestWithoutDeedTheInspectorAppliesARepeatedCallAgain(t *testing.T) {
	for _, e := range effects {
		if e.tool != "move_file" && e.tool != "create_entities" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			folder := newFolder(t)
			for _, when := range []string{"after the first call", "after the second call"} {
				e.lay(t, folder)
				e.mustNotBeSeen(t, folder, "before a call")
				if result := inspect(t, e.command(t, folder), e, e.arguments(folder)); result["isError"] == true {
					t.Fatalf("call %s: the server answered %v", e.tool, result)
				}
				e.mustBeSeen(t, folder, when)
			}
		})
	}
}

// TestAHeldAnswerLeavesTheEffectDone shows the state in which the gateway is
// killed elsewhere: applied, answered by the server, and unknown to the client.
func TestAHeldAnswerLeavesTheEffectDone(t *testing.T) {
	for _, e := range effects {
		if e.tool != "move_file" {
			continue
		}
		folder := newFolder(t)
		log := filepath.Join(t.TempDir(), "relay.log")
		server := connect(t, relayed(t, log, true, e.command(t, folder)))
		e.lay(t, folder)

		answer := make(chan error, 1)
		go func() {
			_, err := server.CallTool(t.Context(), &mcp.CallToolParams{Name: e.tool, Arguments: e.arguments(folder)})
			answer <- err
		}()
		awaitLine(t, log, "answered "+e.tool)
		e.mustBeSeen(t, folder, "although the server has answered")
		if err := server.server.Process.Kill(); err != nil {
			t.Fatalf("kill the relay: %v", err)
		}
		if err := <-answer; err == nil {
			t.Fatal("the client received the answer that was held")
		}
	}
}
