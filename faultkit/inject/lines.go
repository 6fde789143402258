// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// Lines applies mishaps to a conversation of JSON-RPC lines. It is the part that
// Streams and Pipe share; it does no input or output of its own.
type Lines struct {
	judge Judge

	mu     sync.Mutex
	doomed map[string]Mishap
	copies int
}

// NewLines returns the rules for one conversation.
func NewLines(judge Judge) *Lines {
	return &Lines{judge: judge, doomed: map[string]Mishap{}}
}

// Verdict is what to do with an answer.
type Verdict struct {
	// Pass is what the caller gets to read, newline included; it may be half a
	// line, or nothing.
	Pass []byte
	// End says that the connection ends here.
	End bool
	// Mishap is None for an answer that passes untouched.
	Mishap Mishap
}

// Request takes one line (without newline) from the caller and returns the lines
// for the server.
func (l *Lines) Request(ctx context.Context, line []byte) ([][]byte, error) {
	id, call, ok := toolsCall(line)
	if !ok {
		return [][]byte{line}, nil
	}
	mishap, err := l.judge.Judge(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("decide about a call of %s: %w: the call was not passed on", call.Tool, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch mishap {
	case None:
		return [][]byte{line}, nil
	case Duplicate:
		l.copies++
		name := fmt.Sprintf(`"copy-%d"`, l.copies)
		l.doomed[name] = Duplicate
		twin, err := renumber(line, name)
		if err != nil {
			return nil, err
		}
		return [][]byte{line, twin}, nil
	default:
		l.doomed[id] = mishap
		return [][]byte{line}, nil
	}
}

// Answer takes one line (without newline) from the server.
func (l *Lines) Answer(line []byte) Verdict {
	pass := append(append([]byte(nil), line...), '\n')
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &head) != nil || head.Method != "" || len(head.ID) == 0 {
		return Verdict{Pass: pass}
	}
	l.mu.Lock()
	mishap, doomed := l.doomed[string(head.ID)]
	delete(l.doomed, string(head.ID))
	l.mu.Unlock()
	switch {
	case !doomed:
		return Verdict{Pass: pass}
	case mishap == CutReply:
		return Verdict{Pass: line[:len(line)/2], End: true, Mishap: mishap}
	case mishap == Crash:
		return Verdict{End: true, Mishap: mishap}
	default:
		return Verdict{Mishap: mishap}
	}
}

// toolsCall reads a tools/call request.
func toolsCall(line []byte) (id string, call Seen, ok bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method != "tools/call" || len(m.ID) == 0 {
		return "", Seen{}, false
	}
	return string(m.ID), Seen{Tool: m.Params.Name, Arguments: m.Params.Arguments}, true
}

// renumber gives a request another id and leaves every other member as it is.
func renumber(line []byte, id string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, fmt.Errorf("copy a request: %w", err)
	}
	members["id"] = json.RawMessage(id)
	twin, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("copy a request: %w", err)
	}
	return twin, nil
}
