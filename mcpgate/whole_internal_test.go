// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"errors"
	"testing"
)

func TestNullBesideAnAnswerIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		result string
		fault  string
	}{
		"error null beside a result":  {`{"jsonrpc":"2.0","id":1,"result":{"ok":true},"error":null}`, `{"ok":true}`, ""},
		"result null beside an error": {`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32602,"message":"no"}}`, "", `{"code":-32602,"message":"no"}`},
		"a null result alone":         {`{"jsonrpc":"2.0","id":1,"result":null}`, "null", ""},
	} {
		m, err := ParseMessage([]byte(c.line))
		if err != nil || string(m.Result) != c.result || string(m.Error) != c.fault {
			t.Errorf("%s: result %s, error %s, %v", name, m.Result, m.Error, err)
		}
	}
	if _, err := ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`)); err == nil {
		t.Error("a reply with both was taken")
	}
}

// heard is what a pending request with id 1 hears of a line.
func heard(line string, lineErr error) *Reply {
	var reply *Reply
	l := &stdioLink{
		command: Command{Args: []string{"server"}, Log: func(string) {}}.filled(),
		pending: map[string]*waiting{}, tokens: map[string]*waiting{},
	}
	l.pending["1"] = &waiting{x: &Exchange{Done: func(r Reply) { reply = &r }}}
	l.receive([]byte(line), lineErr)
	return reply
}

func TestAWholeAnswerWithoutTheEndOfItsLineCounts(t *testing.T) {
	if r := heard(`{"jsonrpc":"2.0","id":1,"result":{}}`, ErrCut); r == nil || r.Delivery != Answered {
		t.Errorf("a whole answer: %+v", r)
	}
	if r := heard(`{"jsonrpc":"2.0","id":1,"result":{`, ErrCut); r != nil {
		t.Errorf("half an answer: %+v", r)
	}
}

func TestAnAnswerThatCannotBeReadEndsItsCallAtOnce(t *testing.T) {
	if r := heard(`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, nil); r == nil || r.Delivery != Sent || !errors.Is(r.Err, ErrMessage) {
		t.Errorf("an answer with two outcomes: %+v", r)
	}
	if r := heard(`listening on stdio`, nil); r != nil {
		t.Errorf("noise ended a call: %+v", r)
	}
}

func TestATooLongLineIsAnsweredUnderItsOwnID(t *testing.T) {
	for head, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"abc","method":"tools/call","params":{"na`: `"abc"`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"na`:     `7`,
	} {
		if got := string(idOf([]byte(head))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
