// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package linear_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// input is what a client asked.
type input struct {
	// Kind is "claim" or "settle".
	Kind string
	// Key and Payload are those of a claim: the payload stands for the
	// fingerprint.
	Key, Payload string
	// Claim names the claim, and in a settlement the claim that it settles.
	Claim int
	// Outcome and Receipt are those of a settlement.
	Outcome, Receipt string
}

// output is what it was told. The zero value: nothing, because the process
// that it had asked was killed.
type output struct {
	// Answer is "granted", "replay", "conflict", "in_progress", "uncertain",
	// "failed" or "unavailable" for a claim, and the operation's status or
	// "unrecorded" for a settlement.
	Answer  string
	Receipt string
}

// The standings of one key.
const (
	absent    = "absent"
	executing = "executing"
	failed    = "failed"
	uncertain = "uncertain"
	committed = "committed"
)

// standing is the state of one key. Claim is the claim that holds, or held,
// the newest attempt.
type standing struct {
	Status, Payload string
	Claim           int
	Receipt         string
}

// model is the ledger of one key: the rules of identity, conflict, attempt and
// settlement without twins, approvals and budgets. Time is in it only as what
// may happen at any moment: a lease may run out.
func model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Partition: partition,
		Init:      func() []any { return []any{standing{Status: absent}} },
		Step: func(state, in, out any) []any {
			at, asked, told := state.(standing), in.(input), out.(output)
			if asked.Kind == "settle" {
				return settled(at, asked, told)
			}
			return claimed(at, asked, told)
		},
		DescribeOperation: func(in, out any) string { return describe(in.(input), out.(output)) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return nondeterministic.ToModel()
}

// partition splits a history by key: settlements carry it too.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	byKey := map[string][]porcupine.Operation{}
	for _, op := range history {
		key := op.Input.(input).Key
		byKey[key] = append(byKey[key], op)
	}
	var parts [][]porcupine.Operation
	for _, part := range byKey {
		parts = append(parts, part)
	}
	return parts
}

// claimed are the standings in which a key may be after a claim.
func claimed(at standing, asked input, told output) []any {
	begun := standing{Status: executing, Payload: asked.Payload, Claim: asked.Claim}
	mayBegin := at.Status == absent || at.Status == failed && at.Payload == asked.Payload
	same := at.Status != absent && at.Payload == asked.Payload
	switch told.Answer {
	case "granted":
		return when(mayBegin, begun)
	case "", "unavailable":
		// Nobody knows whether it was begun. If it was, nobody sends.
		return append(when(mayBegin, begun), at)
	case "conflict":
		return when(at.Status != absent && at.Payload != asked.Payload, at)
	case "replay":
		return when(same && at.Status == committed && at.Receipt == told.Receipt, at)
	case "failed":
		// It joined the attempt, whose holder proved that nothing was sent.
		return when(same && at.Status == failed, at)
	case "in_progress":
		return when(same && at.Status == executing, at)
	case "uncertain":
		// Whoever meets an expired lease writes it down.
		lapsed := at
		lapsed.Status = uncertain
		return when(same && (at.Status == executing || at.Status == uncertain), lapsed)
	}
	return nil
}

// settled are the standings after a settlement. Each claim is settled at most
// once, and no other attempt begins while it may have been applied.
func settled(at standing, asked input, told output) []any {
	open := at.Claim == asked.Claim && (at.Status == executing || at.Status == uncertain)
	next := at
	switch asked.Outcome {
	case "success":
		next.Status, next.Receipt = committed, asked.Receipt
	case "unsent":
		next.Status = failed
	default:
		next.Status = uncertain
	}
	switch told.Answer {
	case "", "unrecorded":
		return append(when(open, next), at)
	case next.Status:
		return when(open, next)
	}
	return nil
}

func when(possible bool, next standing) []any {
	if !possible {
		return nil
	}
	return []any{next}
}

func describe(asked input, told output) string {
	answer := told.Answer
	if answer == "" {
		answer = "killed"
	}
	if asked.Kind == "settle" {
		return fmt.Sprintf("settle #%d %s %s: %s", asked.Claim, asked.Outcome, asked.Receipt, answer)
	}
	return fmt.Sprintf("claim #%d %s %s: %s %s", asked.Claim, asked.Key, asked.Payload, answer, told.Receipt)
}
