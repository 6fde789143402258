// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"fmt"
	"strings"
)

// HeldError says that the rules do not let the tool's call through: it waits for a
// person or is refused before it is sent. Nothing was sent then, and nothing can be
// judged: a call that never runs is never repeated either.
type HeldError struct {
	Tool string
	// Decision is awaiting_approval or denied, Reason the gateway's, Text what it told
	// the caller.
	Decision, Reason, Text string
}

func (e *HeldError) Error() string {
	why := "is refused"
	if e.Waits() {
		why = "waits for a person's approval"
	}
	reason := ""
	if e.Reason != "" {
		reason = " (" + strings.ReplaceAll(e.Reason, "_", " ") + ")"
	}
	text := fmt.Sprintf("nothing was proved: with these arguments %s %s%s, and nothing was sent", e.Tool, why, reason)
	if e.Text != "" && !e.Waits() {
		text += fmt.Sprintf("; the gateway said %q", e.Text)
	}
	return text
}

// Waits tells a call that a person may still let through from one that is refused.
func (e *HeldError) Waits() bool { return e.Decision == "awaiting_approval" }

// held reports a first call that the rules did not let through. Of a call that
// reached the tool the checks judge themselves.
func (b *bench) held(first Step) error {
	op := first.Result.Operation
	if op == nil || op.Decision != "awaiting_approval" && op.Decision != "denied" || len(b.controller.Calls()) > 0 {
		return nil
	}
	e := &HeldError{Tool: b.gateway.Upstream + "/" + b.tool, Decision: op.Decision, Reason: op.Reason}
	if len(first.Result.Texts) > 0 {
		e.Text = first.Result.Texts[0]
	}
	return e
}

// awaitStruck waits until the mishap has happened to a call that is under way, or the
// call is answered without having been sent.
func (b *bench) awaitStruck(ctx context.Context, answer func() Step) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		answer()
		stop()
	}()
	err := b.controller.AwaitStruck(waiting, 1)
	if err != nil && ctx.Err() == nil && len(b.controller.Calls()) == 0 && !strings.HasPrefix(answer().String(), "execute/") {
		if err := b.held(answer()); err != nil {
			return err
		}
		return fmt.Errorf("the call never reached the tool: it was answered %s", answer())
	}
	if err != nil {
		// What was sent may be struck after its caller was answered: a server may be slow.
		err = b.controller.AwaitStruck(ctx, 1)
	}
	if err != nil {
		return fmt.Errorf("the call never reached the tool: %w", err)
	}
	return nil
}
