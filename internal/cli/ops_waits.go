// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// waiting says what the record of a proposal does not: why it waits, and what it
// costs, by the rules as the configuration has them now.
type waiting struct {
	Because string `json:"because,omitempty"`
	Costs   string `json:"costs,omitempty"`
}

// Waits implements desk.
func (d *ledgerDesk) Waits(ctx context.Context, op *deed.Operation) waiting {
	w := waiting{Costs: d.costs(ctx, op)}
	config := d.core.Config
	if op.EffectiveStatus(d.Now()) != deed.StatusAwaitingApproval {
		return w
	}
	if config.File == "" {
		w.Because = "the configuration of its gateway says so; with --config FILE the rule is named"
		return w
	}
	revision, fence, fenced := strings.Cut(op.PolicyRevision, " fence ")
	if fenced && !strings.HasSuffix(fence, " lifted") {
		w.Because = "a fence stood when it was asked, under which every call that changes something waits"
		return w
	}
	approval := config.ApprovalOf(op.Tool)
	if approval == nil {
		w.Because = "no approval: of " + d.at.config + " asks for it, as that file is now"
		return w
	}
	w.Because = "every call of this tool waits (approval: of its entry)"
	if approval.When != nil {
		w.Because = "approval: {when: " + approval.When.Source() + "}"
		holds, err := approval.When.Holds(op.Tool, op.Arguments, deed.Principal{Tenant: op.Tenant, Actor: op.Actor})
		switch {
		case err != nil:
			w.Because += ", which cannot be told of these arguments"
		case !holds:
			w.Because += ", which these arguments do not meet"
		}
	}
	if revision != config.Revision {
		w.Because += ", as " + d.at.config + " is now; when this was asked, the rules were others"
	}
	return w
}

// costs says what an operation that holds no money yet takes of its budget.
func (d *ledgerDesk) costs(ctx context.Context, op *deed.Operation) string {
	who := d.who
	who.Tenant = op.Tenant
	room, short, err := d.core.Short(ctx, who, op)
	switch {
	case err != nil:
		return "it cannot be told: " + err.Error()
	case room.Budget == "":
		return ""
	}
	name := "budget " + room.Budget
	if room.Share != "" {
		name += " of " + room.Share
	}
	text := fmt.Sprintf("%s of %s, which has %s left; nothing is held for it until it is sent", strings.TrimSpace(room.Amount.String()+" "+room.Currency), name, room.Left)
	if short {
		text += ", and for that there is no room"
	}
	return text
}

// mostProposed is how much of a proposal's arguments a row shows.
const mostProposed = 48

// proposed is what waits for a person, in a few words.
func proposed(op *deed.Operation, now time.Time) string {
	if op.EffectiveStatus(now) != deed.StatusAwaitingApproval || raw(op.Arguments) == nil {
		return "-"
	}
	return cut(essence(op.Arguments), mostProposed)
}

// matterText is what an operation is about, without the brackets where it is one thing.
func matterText(m deed.Matter) string {
	var values []json.RawMessage
	if json.Unmarshal([]byte(m), &values) != nil || len(values) != 1 {
		return string(m)
	}
	var text string
	if json.Unmarshal(values[0], &text) == nil && text != "" {
		return text
	}
	return string(values[0])
}

// sender says who sends what has been approved, and when.
func sender(op *deed.Operation, at place) []string {
	if op.Approval == nil || op.Approval.Run == deed.RunOnCall {
		return []string{"its caller's next call under the same key sends it, until " + op.DispatchBy.UTC().Format(time.RFC3339)}
	}
	if at.server != "" {
		return []string{"the gateway sends it by itself, within seconds"}
	}
	lines := []string{"a gateway that has its tool and runs on this ledger sends it by itself, within seconds, until " + op.DispatchBy.UTC().Format(time.RFC3339)}
	if at.config == "" {
		return append(lines, "where none runs: deed ops run "+string(op.ID)+" with the --config of its gateway")
	}
	return append(lines, "where none runs: "+at.command("ops run", string(op.ID)))
}
