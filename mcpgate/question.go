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
	result  json.RawMessage // the question, unless it is very long
	inputs  [32]byte
	settled bool
}

// maxQuestion is the longest question whose words are remembered.
const maxQuestion = 16 << 10

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
	if len(answer.Result) <= maxQuestion {
		q.open[name].result = answer.Result
	}
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
	// questionUnknown: nobody remembers a question, and no state tells of one. A client may send answers before it is asked, so that the call
	// is one like any other.
	questionUnknown
	// questionUnfit: the answers leave out what was asked; the question stands as it was.
	questionUnfit
	// questionClosed: the state is of no question that is open, or it was answered otherwise before: the first answers count.
	questionClosed
)

// carrier returns the identity that a keyless answer belongs to, and the question where the answers do not fit it.
func (q *questions) carrier(call deed.Call) ([]deed.Carrier, json.RawMessage, questionState) {
	if call.Continuation == nil || len(call.Carriers) > 0 {
		return call.Carriers, nil, questionKnown
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	a, ok := q.open[questionName(call.Principal, call.Tool, call.Continuation.State, call.Arguments)]
	inputs := sha256.Sum256(call.Continuation.Inputs)
	switch {
	case !ok && string(call.Continuation.State) == "null":
		return nil, nil, questionUnknown
	case !ok:
		return nil, nil, questionClosed
	case !a.fits(call.Continuation.Inputs):
		return nil, a.result, questionUnfit
	case a.settled && a.inputs != inputs:
		return nil, nil, questionClosed
	}
	a.inputs, a.settled = inputs, true
	return []deed.Carrier{{Provenance: deed.ProvenanceModel, Identity: deed.OperationKey(a.key), Name: "requestState"}}, nil, questionKnown
}

// fits reports whether the answers hold all that was asked.
func (a *asked) fits(inputs json.RawMessage) bool {
	requests, ok := rawjson.Get(a.result, "inputRequests")
	if !ok {
		return true
	}
	members, err := rawjson.Members(requests)
	if err != nil {
		return true
	}
	for _, m := range members {
		if _, answered := rawjson.Get(inputs, m.Name); !answered {
			return false
		}
	}
	return true
}
