// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package realservers_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deed-run/deed/test/installed"
)

// session is a connection of the Go SDK's client to a server, or to the gateway
// before it, on standard input and output.
type session struct {
	*mcp.ClientSession
	server *exec.Cmd
}

// connect starts the command line and connects to it until the test ends.
func connect(t *testing.T, line []string) session {
	t.Helper()
	command := exec.Command(line[0], line[1:]...)
	command.Stderr = t.Output()
	client := mcp.NewClient(&mcp.Implementation{Name: "realservers", Version: "1"}, nil)
	connection, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatalf("connect to %s: %v", command, err)
	}
	// A second Close, or one after the server was killed, has nothing to say.
	t.Cleanup(func() { _ = connection.Close() })
	return session{ClientSession: connection, server: command}
}

// mustCall calls the effect's tool and fails the test when the answer is an error.
func (s session) mustCall(t *testing.T, e effect, arguments map[string]any) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: e.tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("call %s: %v", e.tool, err)
	}
	if result.IsError {
		t.Fatalf("call %s: the server answered %s", e.tool, text(t, result))
	}
	return result
}

func text(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	data, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// inspect makes one call with the MCP Inspector's command line, which starts
// the server, or the gateway before it, anew for every call. The server's
// command line goes into a configuration file, as people keep it.
func inspect(t *testing.T, line []string, e effect, arguments map[string]any) map[string]any {
	t.Helper()
	folder := t.TempDir()
	// Inspector 0.15.0 takes a `--` among a server's arguments for its own, so
	// the command line goes into a shell script.
	var script strings.Builder
	script.WriteString("exec")
	for _, word := range line {
		script.WriteString(" '" + word + "'")
	}
	write(t, folder, "server.sh", script.String())
	configuration := map[string]any{"mcpServers": map[string]any{
		e.server: map[string]any{"command": "sh", "args": []string{filepath.Join(folder, "server.sh")}},
	}}
	data, err := json.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, "mcp.json", string(data))
	command := exec.CommandContext(t.Context(), installed.Node(t),
		installed.Script(t, "@modelcontextprotocol", "inspector", "cli", "build", "cli.js"),
		"--cli", "--config", filepath.Join(folder, "mcp.json"), "--server", e.server, "--method", "tools/call", "--tool-name", e.tool)
	for name, value := range arguments {
		command.Args = append(command.Args, "--tool-arg", name+"="+toolArgument(t, value))
	}
	command.Stderr = t.Output()
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	var result map[string]any
	if err := json.Unmarshal(output, &result); err != nil {
		t.Fatalf("read the Inspector's answer: %v\n%s", err, output)
	}
	return result
}

// toolArgument writes a value as the Inspector reads it: a string as it is,
// anything else as JSON.
func toolArgument(t *testing.T, value any) string {
	t.Helper()
	if text, isString := value.(string); isString {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
