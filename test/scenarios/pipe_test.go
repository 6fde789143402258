// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
)

// rawPipe is a gateway over stdio that is spoken to line by line, several lines
// in one write.
type rawPipe struct {
	w      *world
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Scanner
}

// pipe starts a further gateway on the ledger of the world and greets it; the
// answer to the greeting is still to be read.
func (w *world) pipe() *rawPipe {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), w.gateway.Binary, "mcp", "--config", w.gateway.Config)
	input, err := cmd.StdinPipe()
	w.must(err)
	output, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	p := &rawPipe{w: w, cmd: cmd, input: input, output: bufio.NewScanner(output)}
	p.output.Buffer(nil, 1<<20)
	p.write(
		`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"burst","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	)
	return p
}

// write hands over lines at once.
func (p *rawPipe) write(lines ...string) {
	p.w.Helper()
	_, err := io.WriteString(p.input, strings.Join(lines, "\n")+"\n")
	p.w.must(err)
}

// answers reads n answers, in the order in which they come.
func (p *rawPipe) answers(n int) []json.RawMessage {
	p.w.Helper()
	var list []json.RawMessage
	for len(list) < n {
		if !p.output.Scan() {
			p.w.Fatalf("the gateway ended after %d of %d answers", len(list), n)
		}
		var message struct {
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		p.w.must(json.Unmarshal(p.output.Bytes(), &message))
		switch {
		case message.Method != "":
		case message.Error != nil:
			p.w.Fatalf("the gateway answered with an error: %s", message.Error)
		default:
			list = append(list, message.Result)
		}
	}
	return list
}

func (p *rawPipe) end() {
	p.w.Helper()
	p.w.must(p.input.Close())
	p.w.must(p.cmd.Wait())
}
