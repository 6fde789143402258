// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/inject"
)

// toolCheck is one check of a foreign tool.
type toolCheck struct {
	Name, Asks string
	play       func(ctx context.Context, b *bench) error
}

// toolChecks are the checks of ProveTool.
func toolChecks() []toolCheck {
	return []toolCheck{
		{"lost-reply", "is an effect whose answer was cut off never repeated, also after a restart?", playToolLoss},
		{"restart", "after kill -9 between effect and answer, does a restarted gateway send nothing again?", playToolCrash},
		{"duplicate", "do ten equal calls at once, and a later one, reach the tool once?", playToolBurst},
		{"conflict", "is a reused key with other arguments refused before it reaches the tool?", playToolConflict},
	}
}

// bench is where one check plays.
type bench struct {
	stage
	controller  *inject.Controller
	tool        string
	args, other json.RawMessage
}

func (b *bench) own() caller.Call { return keyed(b.key, b.tool, b.args) }

func playToolLoss(ctx context.Context, b *bench) error {
	b.controller.Follow(inject.Plan{Mishap: inject.CutReply})
	if err := b.held(b.call(ctx, b.own(), unknown)); err != nil {
		return err
	}
	b.call(ctx, b.own(), "uncertain")
	if err := b.restart(ctx); err != nil {
		return err
	}
	b.settled(ctx, b.own(), "uncertain")
	return nil
}

func playToolCrash(ctx context.Context, b *bench) error {
	b.controller.Follow(inject.Plan{Mishap: inject.LoseReply})
	answer := sync.OnceValue(b.inFlight(ctx, b.own()))
	if err := b.awaitStruck(ctx, answer); err != nil {
		return err
	}
	b.running.Kill()
	// Over HTTP a lost reply closes the connection, so the gateway may have
	// answered before it was killed.
	b.note(answer(), "no answer|"+unknown)
	if err := b.start(ctx); err != nil {
		return err
	}
	b.settled(ctx, b.own(), "uncertain")
	return nil
}

func playToolBurst(ctx context.Context, b *bench) error {
	const n = 10
	if err := b.held(b.burst(ctx, n, b.own())[0]); err != nil {
		return err
	}
	b.settled(ctx, b.own(), "replay")
	return nil
}

func playToolConflict(ctx context.Context, b *bench) error {
	if err := b.held(b.call(ctx, b.own(), committed)); err != nil {
		return err
	}
	b.call(ctx, keyed(b.key, b.tool, b.other), "conflict")
	b.call(ctx, b.own(), "replay")
	return nil
}

// otherArguments changes the first text or number of the arguments, in the order
// of their names.
func otherArguments(args json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args, &members); err != nil {
		return nil, fmt.Errorf("prove tool: the arguments are no JSON object: %w: nothing was started", err)
	}
	names := []string{}
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var text string
		var number int64
		var changed any
		switch {
		case json.Unmarshal(members[name], &text) == nil && string(members[name]) != "null":
			changed = text + "x"
		case json.Unmarshal(members[name], &number) == nil && string(members[name]) != "null":
			changed = number + 1
		default:
			continue
		}
		value, err := json.Marshal(changed)
		if err != nil {
			return nil, fmt.Errorf("prove tool: change the arguments: %w", err)
		}
		members[name] = value
		return json.Marshal(members)
	}
	return nil, errors.New("prove tool: the arguments have no text and no number to change: nothing was started; set other arguments for the conflict check")
}
