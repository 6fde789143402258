// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/console"
)

// Fence says that the ledger has lost what was written to it in a window of
// time: an older copy was restored, or a failover lost rows. While it stands,
// no key that the ledger does not know can be told to be new, and no operation
// that could be begun can be told not to have been begun. So nothing that
// changes the world begins without a person's consent that was given after the
// fence was set.
type Fence struct {
	ID string `json:"id"`
	// Since is where the window begins; it ends when the fence was set.
	Since  time.Time  `json:"since"`
	SetAt  time.Time  `json:"set_at"`
	SetBy  deed.Actor `json:"set_by"`
	Reason string     `json:"reason,omitempty"`
	// LiftedAt is zero while the fence stands.
	LiftedAt   time.Time  `json:"lifted_at,omitzero"`
	LiftedBy   deed.Actor `json:"lifted_by,omitempty"`
	LiftReason string     `json:"lift_reason,omitempty"`
}

// Stands reports whether the fence holds calls.
func (f *Fence) Stands() bool { return f != nil && f.LiftedAt.IsZero() }

// The events of a fence. They belong to no operation.
const (
	FenceSet    deed.EventName = "fence_set"
	FenceLifted deed.EventName = "fence_lifted"
)

// fenceSetting names the setting that holds the fence of a ledger.
const fenceSetting = "fence"

// FenceEvery is how long a running gateway may take to learn of a fence.
const FenceEvery = 2 * time.Second

// Refusals of a fence. Nothing was changed.
var (
	ErrFenceStands = errors.New("a fence stands already")
	ErrNoFence     = errors.New("no fence stands")
)

// Fence reads the ledger's fence, the lifted one too; nil when there never was
// one.
func (c *Core) Fence(ctx context.Context) (*Fence, error) { return readFence(ctx, c.Ledger) }

// SetFence makes a fence for every gateway on the ledger. It takes the right to
// administer and is recorded before it holds.
func (c *Core) SetFence(ctx context.Context, who deed.Principal, since time.Time, reason string) (*Fence, error) {
	now := c.Clock.Now().UTC()
	next := &Fence{ID: string(eventID(now)), Since: since.UTC(), SetAt: now, SetBy: who.Actor, Reason: reason}
	return next, c.moveFence(ctx, who, FenceSet, next, func(old *Fence) error {
		if old.Stands() {
			return ErrFenceStands
		}
		return nil
	})
}

// LiftFence ends the fence. What waits for a person by then goes on waiting.
func (c *Core) LiftFence(ctx context.Context, who deed.Principal, reason string) (*Fence, error) {
	old, err := c.Fence(ctx)
	if err != nil {
		return nil, err
	}
	if !old.Stands() {
		return nil, ErrNoFence
	}
	next := *old
	next.LiftedAt, next.LiftedBy, next.LiftReason = c.Clock.Now().UTC(), who.Actor, reason
	return &next, c.moveFence(ctx, who, FenceLifted, &next, func(now *Fence) error {
		if !now.Stands() || now.ID != old.ID {
			return ErrNoFence
		}
		return nil
	})
}

func (c *Core) moveFence(ctx context.Context, who deed.Principal, name deed.EventName, next *Fence, allowed func(*Fence) error) error {
	if !who.May(deed.RightAdmin) {
		return fmt.Errorf("the fence of the ledger: %w: it takes the right %q; nothing was changed", deed.ErrForbidden, deed.RightAdmin)
	}
	old, err := c.Fence(ctx)
	if err == nil {
		err = allowed(old)
	}
	if err != nil {
		return err
	}
	doc, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("the fence of the ledger: %w", err)
	}
	now := c.Clock.Now()
	event := deed.Event{ID: eventID(now), Tenant: who.Tenant, At: now, Name: name, Actor: who.Actor, Data: doc}
	if err := c.Ledger.Append(ctx, []deed.Event{event}, deed.Durable); err != nil {
		return err
	}
	var refused error
	_, err = c.Ledger.Setting(ctx, fenceSetting, func(old []byte) []byte {
		stored, wrong := parseFence(old)
		if refused = errors.Join(wrong); refused == nil {
			refused = allowed(stored)
		}
		if refused != nil {
			return nil
		}
		return doc
	})
	return errors.Join(err, refused)
}

func readFence(ctx context.Context, ledger Ledger) (*Fence, error) {
	doc, err := ledger.Setting(ctx, fenceSetting, nil)
	if err != nil {
		return nil, err
	}
	return parseFence(doc)
}

func parseFence(doc []byte) (*Fence, error) {
	if len(doc) == 0 {
		return nil, nil
	}
	f := &Fence{}
	if err := json.Unmarshal(doc, f); err != nil {
		return nil, fmt.Errorf("the fence of the ledger cannot be read: %w", err)
	}
	return f, nil
}

// fenced makes the rules of every tool ask for a person while a fence stands.
type fenced struct {
	deed.Policy
	ledger Ledger
	fence  atomic.Pointer[Fence]
	// log is told when a fence begins to stand or is lifted; nil tells nobody.
	log func(string)
	// reach leads the command that it names to the ledger.
	reach leading
}

// newFenced takes a fence to stand until look has read that none does.
func newFenced(policy deed.Policy, ledger Ledger) *fenced {
	p := &fenced{Policy: policy, ledger: ledger}
	p.fence.Store(&Fence{ID: "unread"})
	return p
}

// look reads the fence anew.
func (p *fenced) look(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, FenceEvery)
	defer cancel()
	f, err := readFence(ctx, p.ledger)
	if err != nil {
		return 0, err
	}
	before := p.standing()
	p.fence.Store(f)
	if text := fenceNews(before, p.standing(), f, p.reach); text != "" && p.log != nil {
		p.log(text)
	}
	return 0, nil
}

// fenceNews says what a look at the fence has shown anew, "" for nothing: before and
// now are what stood and stands, last is the latest fence.
func fenceNews(before, now, last *Fence, reach leading) string {
	switch {
	case now != nil && (before == nil || before.ID != now.ID):
		return fmt.Sprintf("a fence stands since %s, set by %s: what was done from %s to then may be lost, so every call that changes something waits for a person; %s shows it and says what to do",
			now.SetAt.Format(time.RFC3339), now.SetBy, now.Since.Format(time.RFC3339), reach.command("ledger fence"))
	case now == nil && before != nil && last != nil:
		return fmt.Sprintf("the fence of %s was lifted by %s; calls go on by their rules, and what waits for a person goes on waiting", before.SetAt.Format(time.RFC3339), last.LiftedBy)
	}
	return ""
}

// standing is the fence that stands as it was last read, nil for none and where none
// could be read yet.
func (p *fenced) standing() *Fence {
	if f := p.fence.Load(); f.Stands() && !f.SetAt.IsZero() {
		return f
	}
	return nil
}

// Standing is the fence that stands over the ledger, nil for none: as it was when
// the Core was opened, and in a gateway no older than FenceEvery.
func (c *Core) Standing() *Fence { return c.fence.standing() }

func (c *Core) fenceOfPages() *console.Fence {
	f := c.Standing()
	if f == nil {
		return nil
	}
	return &console.Fence{Since: f.Since, SetAt: f.SetAt, SetBy: f.SetBy, Reason: f.Reason}
}

func (c *Core) fenceOfAPI() *api.Fence {
	f := c.Standing()
	if f == nil {
		return nil
	}
	return &api.Fence{Since: f.Since, SetAt: f.SetAt}
}

// Rule returns the inner rule; while a fence stands, one that asks for a person
// whatever the call, and whose hash is another one: a consent that was given
// under the old rules does not count, and a gateway that has not heard of the
// fence yet stops beginning as soon as another one has begun under it. The
// revision changes with every set and lift, so that gateways record their rules
// anew.
func (p *fenced) Rule(tool deed.Tool, facts deed.ToolFacts) deed.Rule {
	rule := p.Policy.Rule(tool, facts)
	f := p.fence.Load()
	if f == nil {
		return rule
	}
	rule.Revision += " fence " + f.ID
	if !f.Stands() {
		rule.Revision += " lifted"
		return rule
	}
	if !rule.Mutates() {
		return rule
	}
	rule.Conditions = append(slices.Clone(rule.Conditions), "fence "+f.ID)
	if rule.Approval != nil {
		always := *rule.Approval
		always.When = nil
		rule.Approval = &always
		return rule
	}
	rule.NeedsApproval = func([]byte, deed.Principal) bool { return true }
	return rule
}
