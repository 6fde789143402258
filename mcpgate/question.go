// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// questions remembers which operation a question without a key belongs to. A keyless call has a random identity that its client does not
// know, and MCP wants the answer in a call that looks like a new one; what ties them is the requestState and the arguments. It is kept in
// memory: after a restart such an answer finds nothing and the operation stays as it is.
type questions struct {
	mu    sync.Mutex
	open  map[[32]byte]*asked
	order [][32]byte
}

// asked is one question: the random identity of its operation, and the answers that it got first.
type asked struct {
	key     string
	inputs  [32]byte
	settled bool
}

// maxQuestions bounds what is remembered.
const maxQuestions = 10000

func questionName(who deed.Principal, tool deed.Tool, state, arguments json.RawMessage) [32]byte {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(who.Tenant), []byte(who.Actor), []byte(tool), state, arguments} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return [32]byte(h.Sum(nil))
}

// ask notes the identity behind a question that goes to a client without a key.
func (q *questions) ask(who deed.Principal, tool deed.Tool, answer deed.Answer, arguments json.RawMessage) {
	op := answer.Operation
	if op == nil || op.Key.Provenance != deed.ProvenanceNone || answer.Effective != deed.StatusAwaitingInput {
		return
	}
	state, ok := rawjson.Get(answer.Result, "requestState")
	if !ok {
		state = json.RawMessage("null")
	}
	name := questionName(who, tool, state, arguments)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[[32]byte]*asked{}
	}
	if _, known := q.open[name]; !known {
		q.order = append(q.order, name)
	}
	q.open[name] = &asked{key: op.Key.Text}
	for len(q.order) > maxQuestions {
		delete(q.open, q.order[0])
		q.order = q.order[1:]
	}
}

// questionState says how a call stands to the questions that are remembered.
type questionState int

const (
	// questionKnown: the call answers a question, or is no answer.
	questionKnown questionState = iota
	// questionStateless: nothing tells which question it answers, and none that is open fits. A client may send answers before it is asked,
	// so that the call is one like any other.
	questionStateless
	// questionClosed: the state is of no question that is open, or it was answered otherwise before: the first answers count.
	questionClosed
)

// carrier returns the identity that a keyless answer belongs to.
func (q *questions) carrier(call deed.Call) ([]deed.Carrier, questionState) {
	if call.Continuation == nil || len(call.Carriers) > 0 {
		return call.Carriers, questionKnown
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	a, ok := q.open[questionName(call.Principal, call.Tool, call.Continuation.State, call.Arguments)]
	inputs := sha256.Sum256(call.Continuation.Inputs)
	switch {
	case ok && (!a.settled || a.inputs == inputs):
	case string(call.Continuation.State) == "null":
		return nil, questionStateless
	default:
		return nil, questionClosed
	}
	a.inputs, a.settled = inputs, true
	return []deed.Carrier{{Provenance: deed.ProvenanceModel, Identity: deed.OperationKey(a.key), Name: "requestState"}}, questionKnown
}
