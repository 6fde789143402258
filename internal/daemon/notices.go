// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/notify"
)

// notices tells the configured webhooks what waits for a person.
type notices struct {
	core   *Core
	sender *notify.Sender
}

// noticePatience bounds the look at the operation that a notice is about.
const noticePatience = 5 * time.Second

// openNotices returns nil when nobody is to be told.
func openNotices(c *Core) *notices {
	if len(c.Config.Webhooks) == 0 {
		return nil
	}
	hooks := make([]notify.Hook, 0, len(c.Config.Webhooks))
	for _, w := range c.Config.Webhooks {
		hook := notify.Hook{URL: w.URL.Text, Secret: w.Secret.Text, Format: notify.Format(w.Format)}
		for _, event := range w.Events {
			hook.Kinds = append(hook.Kinds, notify.Kind(event))
		}
		hooks = append(hooks, hook)
	}
	return &notices{core: c, sender: notify.New(notify.Options{Hooks: hooks, Clock: c.Clock, Log: c.log})}
}

// hear tells of proposals. It looks at the operation on its own: whoever recorded the
// event does not wait.
func (n *notices) hear(event deed.Event) {
	asks := event.Name == deed.EventProposed || event.Name == deed.EventProposalVoided
	if !asks || event.To != deed.StatusAwaitingApproval {
		return
	}
	n.core.looks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), noticePatience)
		defer cancel()
		n.tell(ctx, notify.Approval, event, nil)
	})
}

// tell sends a notice about an operation, which is looked at where it is not given.
func (n *notices) tell(ctx context.Context, kind notify.Kind, event deed.Event, op *deed.Operation) {
	notice := notify.Notice{
		ID: string(event.ID), Kind: kind, Operation: event.OperationID, Tenant: event.Tenant, Tool: event.Tool,
		Actor: event.Actor, At: event.At.UTC(), Since: event.At.UTC(), Console: n.core.consoleURL(event.OperationID),
	}
	if f := n.core.Standing(); f != nil && kind == notify.Approval {
		notice.FencedSince = f.Since
	}
	// Without the record the notice says less; it is sent all the same.
	if op == nil {
		who := deed.Principal{Tenant: event.Tenant, Actor: "notices", Rights: []deed.Right{deed.RightRead}}
		op, _ = n.core.Runtime.Get(ctx, who, event.OperationID)
	}
	if op != nil {
		notice.Actor, notice.Since = op.Actor, op.CreatedAt.UTC()
		if op.Approval != nil && kind == notify.Approval {
			notice.ExpiresAt = op.Approval.ExpiresAt.UTC()
		}
		notice.Held, notice.Search = held(op), n.core.searchURL(op)
	}
	n.sender.Tell(notice)
}

// held is the money that an operation holds, with its currency, or "".
func held(op *deed.Operation) string {
	for _, attempt := range op.Attempts {
		for _, booking := range attempt.Bookings {
			if booking.State == deed.BookingHeld {
				return booking.Amount.String() + " " + booking.Currency
			}
		}
	}
	return ""
}

// searchURL is the page at the provider that finds what an operation planted,
// "" where none is configured or nothing was planted.
func (c *Core) searchURL(op *deed.Operation) string {
	page := c.Config.ToolSettings(op.Tool).Search
	current := op.Current()
	if page == "" || current == nil || current.Marks == nil || current.Marks.Marker == "" {
		return ""
	}
	return strings.ReplaceAll(page, "{marker}", url.QueryEscape(current.Marks.Marker))
}

// consoleURL is where a person looks at an operation, "" when nobody has said
// how the console is reached.
func (c *Core) consoleURL(id deed.OperationID) string {
	base := c.Config.Console.Address
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + "/op/" + url.PathEscape(string(id))
}

func (n *notices) close(ctx context.Context) {
	if n != nil {
		n.sender.Close(ctx)
	}
}
