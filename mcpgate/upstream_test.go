// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// The test binary is its own hostile upstream: a hand-written MCP server on stdio that keeps a file of the requests that it received.
func TestMain(m *testing.M) {
	if kind := os.Getenv("MCPGATE_OVERHEAD"); kind != "" {
		overheadProcess(kind)
		return
	}
	if os.Getenv("MCPGATE_UPSTREAM") != "" {
		hostileUpstream(os.Getenv("MCPGATE_UPSTREAM"))
		return
	}
	if os.Getenv("MCPGATE_SDK") != "" {
		_ = sdkServer().Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	goleak.VerifyTestMain(m)
}

func sdkCommand(env []string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = env
	return cmd
}

// hostileResult holds what typed round trips are known to damage.
const hostileResult = `{"structuredContent":{"z":9007199254740993,"a":1.0,"e":1e400,"s":"\ud800","n":null},"unknown":{"b":1,"a":2},"content":[{"type":"hologram","x":1}],"isError":false}`

const hostileTools = `{"tools":[` +
	`{"name":"add","description":"Adds.","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"},"note":{"type":"string"}},"required":["n"],"x-vendor":9007199254740993}},` +
	`{"name":"get","annotations":{"readOnlyHint":true,"unknownHint":1.0},"inputSchema":{"type":"object"}},` +
	`{"name":"exit","inputSchema":{"type":"object"}},` +
	`{"name":"half","inputSchema":{"type":"object"}},` +
	`{"name":"hang","inputSchema":{"type":"object"}},` +
	`{"name":"ask","inputSchema":{"type":"object"}},` +
	`{"name":"slow","inputSchema":{"type":"object"}},` +
	`{"name":"refuse","inputSchema":{"type":"object"}},` +
	`{"name":"crash-error","inputSchema":{"type":"object"}}` +
	`],"extra":{"k":1.0}}`

type upstreamMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
			// Together is how many slow calls are waited for before any of them is answered.
			Together int `json:"together"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

func hostileUpstream(log string) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	out := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	reply := func(id json.RawMessage, result string) { out(`{"result":%s,"id":%s,"jsonrpc":"2.0"}`, result, id) }
	var asked json.RawMessage
	var slow []json.RawMessage
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		line := scanner.Text()
		fmt.Fprintln(file, line)
		var m upstreamMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			panic(err)
		}
		switch m.Method {
		case "initialize":
			reply(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"hostile","version":"1","x":1.0},"_meta":{"k":1}}`)
		case "ping":
			reply(m.ID, `{}`)
		case "tools/list":
			reply(m.ID, hostileTools)
		case "tools/call":
			hostileCall(m, line, reply, out, &asked, &slow)
		case "":
			if string(m.ID) == `"server-1"` {
				reply(asked, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, m.Result))
			}
		default:
			if m.ID != nil {
				reply(m.ID, `{"method":"`+m.Method+`","n":9007199254740993}`)
			}
		}
	}
}

func hostileCall(m upstreamMessage, line string, reply func(json.RawMessage, string), out func(string, ...any), asked *json.RawMessage, slow *[]json.RawMessage) {
	switch m.Params.Name {
	case "exit":
		os.Exit(3)
	case "half":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`, m.ID)
		os.Exit(0)
	case "hang":
	case "ask":
		*asked = m.ID
		out(`{"jsonrpc":"2.0","id":"server-1","method":"sampling/createMessage","params":{"n":9007199254740993}}`)
	case "slow":
		out(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.Params.Meta.Token)
		*slow = append(*slow, m.ID)
		if len(*slow) < max(m.Params.Meta.Together, 1) {
			return
		}
		for _, id := range *slow {
			reply(id, `{"content":[{"type":"text","text":"slow done"}]}`)
		}
		*slow = nil
	case "refuse":
		out(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Invalid arguments for tool refuse: n is required","data":{"x":1.0}}}`, m.ID)
	case "crash-error":
		out(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"boom"}}`, m.ID)
	case "add":
		reply(m.ID, `{"content":[{"type":"text","text":"added"}],"structuredContent":{"id":"T-1","n":9007199254740993},"vendor":1.0}`)
	default:
		reply(m.ID, hostileResult)
	}
}

// received returns the lines that the upstream got, of the given method.
func received(t *testing.T, log, method string) []string {
	t.Helper()
	raw, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, `"method":"`+method+`"`) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
