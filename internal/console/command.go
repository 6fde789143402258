// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"strings"

	"github.com/deed-run/deed"
)

// command is an action as a line for a terminal.
type command struct {
	Label string
	CLI   string
	// Curl is empty where the API refuses it.
	Curl string
}

// base is the address that commands name.
func (v *visit) base() string {
	if v.console.Address != "" {
		return v.console.Address
	}
	scheme := "http://"
	if v.TLS != nil || v.console.Secure {
		scheme = "https://"
	}
	return scheme + v.Host
}

// cli is a line of deed ops about an operation, with what leads it to the ledger.
func (v *visit) cli(verb string, id deed.OperationID, more ...string) string {
	words := []string{"deed", "ops", verb, string(id)}
	switch {
	case v.console.Ledger == "":
		words = append(words, "--server", quote(v.base()))
	case verb == "reconcile" && v.console.Config != "":
		words = append(words, "--config", quote(v.console.Config), "--ledger", quote(v.console.Ledger))
	default:
		words = append(words, "--ledger", quote(v.console.Ledger))
	}
	return strings.Join(append(words, more...), " ")
}

// commandsFor lists what can be done with an operation, as commands. The
// bearer token is left to the shell's environment; where the API asks for none it
// decides nothing, and commands work on the ledger.
func (v *visit) commandsFor(op *deed.Operation) []command {
	base := v.base()
	id := string(op.ID)
	local := v.console.Ledger != ""
	curl := func(verb string, body map[string]any) string {
		switch {
		case local && body != nil:
			return ""
		case local:
			return "curl -sS " + quote(base+"/v1/operations/"+id+verb)
		}
		text := "curl -sS -H \"Authorization: Bearer $DEED_TOKEN\" "
		if body == nil {
			return text + quote(base+"/v1/operations/"+id+verb)
		}
		doc, _ := json.Marshal(body)
		return text + "-H 'Content-Type: application/json' -d " + quote(string(doc)) + " " + quote(base+"/v1/operations/"+id+verb)
	}
	list := []command{{"Show", v.cli("show", op.ID), curl("", nil)}}
	decide := func(label, verb string, body map[string]any, flags ...string) {
		list = append(list, command{label, v.cli(verb, op.ID, flags...), curl("/"+verb, body)})
	}
	switch op.EffectiveState(v.now) {
	case deed.StateUncertain, deed.StateAbandoned:
		decide("It happened", "resolve", map[string]any{"outcome": "committed", "remote_ids": []string{"ID"}, "reason": "REASON"}, "--committed", "--remote-id", "ID", "--reason", "REASON")
		decide("It did not", "resolve", map[string]any{"outcome": "not_applied", "reason": "REASON"}, "--not-applied", "--reason", "REASON")
		decide("Abandon", "resolve", map[string]any{"outcome": "abandon", "reason": "REASON"}, "--abandon", "--reason", "REASON")
		decide("Run the probe", "reconcile", map[string]any{})
	case deed.StateAwaitingApproval:
		if a := op.Approval; a != nil {
			decide("Approve", "approve", map[string]any{"digest": a.Digest, "reason": "REASON"}, "--digest", string(a.Digest), "--reason", "REASON")
			decide("Deny", "deny", map[string]any{"digest": a.Digest, "reason": "REASON"}, "--digest", string(a.Digest), "--reason", "REASON")
		}
		decide("Cancel", "cancel", map[string]any{"reason": "REASON"}, "--reason", "REASON")
	case deed.StateFailedFinal:
		decide("Reopen", "reopen", map[string]any{"reason": "REASON"}, "--reason", "REASON")
	case deed.StateAuthorized, deed.StateFailedRetryable, deed.StateExecuting, deed.StateAwaitingInput:
		decide("Cancel", "cancel", map[string]any{"reason": "REASON"}, "--reason", "REASON")
	}
	return list
}

// quote makes one word of a POSIX shell of a text.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
