// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed/mcpgate"
)

func TestStdioForwardsEveryByte(t *testing.T) {
	command, log := hostile(t)
	c := serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command})
	c.initialize()
	for _, x := range []struct{ name, request, reply string }{
		{"an unknown method with odd numbers and order",
			`{"params":{"z":1.0,"a":9007199254740993,"s":"\ud800"},"method":"vendor/unknown","jsonrpc":"2.0","id":7,"vendor":null}`,
			`{"result":{"method":"vendor/unknown","n":9007199254740993},"id":7,"jsonrpc":"2.0"}`},
		{"a hostile tool result", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"other","arguments":{"b":1.0},"task":{"ttl":1}}}`,
			`{"result":` + hostileResult + `,"id":8,"jsonrpc":"2.0"}`},
		{"a tool list", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, `{"result":` + hostileTools + `,"id":9,"jsonrpc":"2.0"}`},
		{"an error with data", `{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"refuse"}}`,
			`{"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"Invalid arguments for tool refuse: n is required","data":{"x":1.0}}}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.send("%s", x.request)
			if got := c.next(); got != x.reply {
				t.Errorf("got  %s\nwant %s", got, x.reply)
			}
		})
	}
	if got := received(t, log, "vendor/unknown"); len(got) != 1 || got[0] != `{"params":{"z":1.0,"a":9007199254740993,"s":"\ud800"},"method":"vendor/unknown","jsonrpc":"2.0","id":7,"vendor":null}` {
		t.Errorf("the upstream received %q", got)
	}
}

func TestMessagesThatDoNotWaitKeepTheirOrder(t *testing.T) {
	command, log := hostile(t)
	c := serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command})
	c.send(initializeBody)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, id := range []string{"1", "2", "3"} {
		c.send(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id)
	}
	for _, id := range []string{`"init"`, "1", "2", "3"} {
		mustContain(t, c.next(), `"id":`+id)
	}
	if n := len(received(t, log, "notifications/initialized")); n != 1 {
		t.Errorf("%d initialized notifications", n)
	}
}

func TestStdioPassesRequestsOfTheServerBothWays(t *testing.T) {
	command, _ := hostile(t)
	c := serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command})
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
	if got := c.next(); got != `{"jsonrpc":"2.0","id":"server-1","method":"sampling/createMessage","params":{"n":9007199254740993}}` {
		t.Fatalf("got %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":"server-1","result":{"model":"m","n":9007199254740993}}`)
	mustContain(t, c.reply("1"), `9007199254740993`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"p-1"}}}`)
	mustContain(t, c.next(), `"progressToken":"p-1"`)
	mustContain(t, c.reply("2"), "slow done")
}

func TestDeadUpstreamIsStartedForTheNextRequestOnly(t *testing.T) {
	for _, tool := range []string{"exit", "half"} {
		t.Run(tool, func(t *testing.T) {
			command, log := hostile(t)
			c := serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command})
			c.initialize()
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool)
			mustContain(t, c.reply("1"), `"error"`, "process ended", "not sent again")
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add"}}`)
			mustContain(t, c.reply("2"), "added")
			c.close()
			if got := received(t, log, "tools/call"); len(got) != 2 {
				t.Errorf("the upstream received %d calls: %q", len(got), got)
			}
			if got := received(t, log, "initialize"); len(got) != 2 {
				t.Errorf("the restarted upstream was initialised %d times", len(got)-1)
			}
			if got := received(t, log, "notifications/initialized"); len(got) != 2 {
				t.Errorf("%d initialized notifications", len(got))
			}
		})
	}
}

func TestBadMessagesReachNobody(t *testing.T) {
	command, log := hostile(t)
	c := serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command, MaxMessage: 4096})
	c.initialize()
	for _, x := range []struct{ name, line, want string }{
		{"no JSON", `{"jsonrpc":"2.0","id":1,`, `-32700`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`, `-32700`},
		{"a duplicate member", `{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/call"}`, `stands twice`},
		{"a member that differs by case", `{"jsonrpc":"2.0","id":5,"method":"ping","Method":"tools/call"}`, `stands twice`},
		{"a case variant alone", `{"jsonrpc":"2.0","id":5,"METHOD":"tools/call"}`, `looks like`},
		{"an over-long line", `{"jsonrpc":"2.0","id":6,"method":"x","params":{"a":"` + strings.Repeat("x", 5000) + `"}}`, `longer than the limit`},
		{"an id of a wrong kind", `{"jsonrpc":"2.0","id":{},"method":"x"}`, `neither text nor number`},
		{"another version", `{"jsonrpc":"1.0","id":4,"method":"x"}`, `not \"2.0\"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.send("%s", x.line)
			mustContain(t, c.next(), `"error"`, x.want)
		})
	}
	c.send(`{"jsonrpc":"2.0","id":99,"method":"ping"}`)
	c.reply("99")
	if got := received(t, log, "tools/call"); len(got) != 0 {
		t.Errorf("the upstream received %q", got)
	}
}

func TestAClosedClientLeavesNothingBehind(t *testing.T) {
	command, _ := hostile(t)
	c := serve(t, mcpgate.Stdio{Name: "hostile", Upstream: command})
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`)
	c.close()
}

func TestACommandThatNeverAnswersIsAnErrorToTheClientAndAtTheEnd(t *testing.T) {
	quiet := func(string) {}
	for name, x := range map[string]struct {
		command mcpgate.Command
		want    []string
		ends    string
	}{
		"it does not start": {
			mcpgate.Command{Name: "none", Args: []string{"/no/such/program"}, Log: quiet}, []string{"not sent", "/no/such/program"},
			`upstream "none" never answered: start upstream "/no/such/program": `,
		},
		"it ends at once": {
			mcpgate.Command{Name: "none", Args: []string{"sh", "-c", "read line; exit 3"}, Log: quiet}, []string{"exit status 3"},
			`upstream "none" never answered: the upstream process ended (exit status 3); see that its command runs by itself`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, mcpgate.Stdio{Name: "none", Upstream: x.command})
			c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
			mustContain(t, c.next(), append(x.want, `"id":1`, `"error"`)...)
			c.ends(x.ends)
		})
	}
}

func TestAClientThatAsksNothingOfACommandThatCannotStartEndsWell(t *testing.T) {
	c := serve(t, mcpgate.Stdio{Name: "none", Upstream: mcpgate.Command{Args: []string{"/no/such/program"}, Log: func(string) {}}})
	c.close()
}
