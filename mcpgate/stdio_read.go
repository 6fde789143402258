// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// receive handles one line of the child's output, in order.
func (l *stdioLink) receive(line []byte, lineErr error) {
	m, err := ParseMessage(line)
	// A message that parses to its end is whole, though the child left before it
	// ended the line.
	if lineErr != nil && (err != nil || !errors.Is(lineErr, ErrCut)) {
		l.unreadable(line, lineErr)
		return
	}
	if err != nil {
		l.command.Log(fmt.Sprintf("upstream %s: %v: %v; it was dropped", l.command.Name, errStdioNoise, err))
		if headID(line) != "" {
			l.unreadable(line, err)
		}
		return
	}
	l.mu.Lock()
	l.heard, l.spoke = l.command.Now(), true
	var w *waiting
	switch {
	case m.IsReply():
		w = l.pending[m.Key()]
	case m.IsNotification() && (len(l.tokens) > 0 || l.shared):
		w = l.owner(m)
	}
	l.mu.Unlock()
	switch {
	case m.IsReply() && w != nil:
		l.settle(m.Key(), w, Reply{Delivery: Answered, Message: m})
	case m.IsReply():
		// Nobody waits any more; a late answer of a guarded call is waited for by the guard itself.
		l.command.Log(fmt.Sprintf("upstream %s answered request %s, which nobody waits for", l.command.Name, m.ID))
	case w != nil:
		l.forward(w, m)
	case l.sink != nil && !l.shared:
		l.sink(Event{Message: m})
	case l.shared && m.IsRequest():
		l.refuse(m)
	}
}

// owner finds the request that a notification belongs to. The caller holds mu.
func (l *stdioLink) owner(m Message) *waiting {
	if m.Method == "notifications/progress" {
		token, _ := rawjson.Get(m.Params, "progressToken")
		return l.tokens[string(token)]
	}
	if id, ok := rawjson.Get(m.Params, "_meta", subscriptionID); ok && l.shared {
		return l.pending[Message{ID: id}.Key()]
	}
	return nil
}

const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// forward gives a notification back the token or subscription that its receiver knows.
func (l *stdioLink) forward(w *waiting, m Message) {
	if w.x.Event == nil {
		if l.sink != nil {
			l.sink(Event{Message: m})
		}
		return
	}
	params, err := []byte(m.Params), error(nil)
	switch {
	case m.Method == "notifications/progress" && w.token != w.x.Token:
		params, err = rawjson.Set(m.Params, json.RawMessage(w.x.Token), "progressToken")
	case w.id != nil && m.Method != "notifications/progress":
		params, err = rawjson.Set(m.Params, w.id, "_meta", subscriptionID)
	}
	if err == nil && string(params) != string(m.Params) {
		m, err = m.With("params", params)
	}
	if err == nil {
		w.x.Event(Event{Message: m})
	}
}

// refuse answers a request of a server whose link is shared: in the stateless era servers must not send any, and nobody could be asked.
func (l *stdioLink) refuse(m Message) {
	l.mu.Lock()
	c := l.child
	l.mu.Unlock()
	if c != nil {
		_, _ = c.lines.write(ErrorMessage(m.ID, codeNoMethod, "no client can be asked on a shared session").Raw, nil)
	}
}

// unreadable ends the request that an over-long or cut answer belonged to; when the answer's id cannot be told, every pending request's
// outcome is open.
func (l *stdioLink) unreadable(head []byte, cause error) {
	l.command.Log(fmt.Sprintf("upstream %s: %v; the answer was dropped", l.command.Name, cause))
	if errors.Is(cause, ErrCut) {
		return // the child is about to be found dead, which ends everything that waits
	}
	key := headID(head)
	l.mu.Lock()
	lost := map[string]*waiting{}
	for k, w := range l.pending {
		if key == "" || k == key {
			lost[k] = w
		}
	}
	l.mu.Unlock()
	for k, w := range lost {
		l.settle(k, w, Reply{Delivery: Sent, Err: cause})
	}
}

// headID looks for the id among the first members of a message whose end is missing.
func headID(head []byte) string {
	for i := len(head); i > 0; i-- {
		if head[i-1] != ',' {
			continue
		}
		if id, ok := rawjson.Get(append(append([]byte{}, head[:i-1]...), '}'), "id"); ok {
			return Message{ID: id}.Key()
		}
	}
	return ""
}
