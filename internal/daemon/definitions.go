// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// DefinitionAccepted is the event of a person who accepted a changed tool
// definition. It belongs to no operation.
const DefinitionAccepted deed.EventName = "definition_accepted"

// ErrDefinitionMoved: the definition changed again after it was looked at.
// Nothing was accepted.
var ErrDefinitionMoved = errors.New("the definition has changed again since it was looked at")

// Acceptance is what the event DefinitionAccepted carries.
type Acceptance struct {
	From deed.Digest `json:"from"`
	To   deed.Digest `json:"to"`
}

// Pin reads what the ledger knows of a tool's definition. ok is false when no
// gateway has met the tool yet.
func (c *Core) Pin(ctx context.Context, tool deed.Tool) (pin mcpgate.Pin, ok bool, err error) {
	raw, err := c.Ledger.Setting(ctx, mcpgate.PinName(tool), nil)
	if err != nil || raw == nil {
		return mcpgate.Pin{}, false, err
	}
	if err := json.Unmarshal(raw, &pin); err != nil {
		return mcpgate.Pin{}, false, fmt.Errorf("the pinned definition of %s cannot be read: %w", tool, err)
	}
	return pin, true, nil
}

// Accept makes the changed definition that pin holds the pinned one, for every
// gateway on the ledger. It takes the right to administer, and is recorded
// first: an acceptance without a record cannot be. Only what was looked at is
// accepted: ErrDefinitionMoved otherwise.
func (c *Core) Accept(ctx context.Context, who deed.Principal, pin mcpgate.Pin) error {
	if !who.May(deed.RightAdmin) {
		return fmt.Errorf("accepting a definition of %s: %w: it takes the right %q; nothing was changed", pin.Tool, deed.ErrForbidden, deed.RightAdmin)
	}
	data, err := json.Marshal(Acceptance{From: pin.Accepted, To: pin.Seen})
	if err != nil {
		return fmt.Errorf("accepting a definition of %s: %w", pin.Tool, err)
	}
	err = c.Ledger.Append(ctx, []deed.Event{{
		ID: eventID(c.Clock.Now()), Tenant: who.Tenant, At: c.Clock.Now(), Name: DefinitionAccepted,
		Actor: who.Actor, Tool: pin.Tool, Data: data,
	}}, deed.Durable)
	if err != nil {
		return err
	}
	seen := &lookedAt{Settings: c.Ledger, digest: pin.Seen}
	changed, err := (&mcpgate.Pins{Settings: seen, Now: c.Clock.Now}).Accept(ctx, pin.Tool)
	if err == nil && (seen.moved || !changed) {
		return fmt.Errorf("%s: %w", pin.Tool, ErrDefinitionMoved)
	}
	return err
}

// Acceptances lists who accepted which definitions of a tool, oldest first.
func (c *Core) Acceptances(ctx context.Context, tenant deed.Tenant, tool deed.Tool) ([]deed.Event, error) {
	query := deed.EventQuery{Tenant: tenant, Name: DefinitionAccepted, Limit: 1000}
	var found []deed.Event
	for {
		events, err := c.Ledger.Events(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Tool == tool {
				found = append(found, e)
			}
		}
		if len(events) < query.Limit {
			return found, nil
		}
		query.After = events[len(events)-1].ID
	}
}

// lookedAt lets a pin be changed only while it holds the definition that a
// person looked at.
type lookedAt struct {
	mcpgate.Settings
	digest deed.Digest
	moved  bool
}

func (l *lookedAt) Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error) {
	return l.Settings.Setting(ctx, name, func(old []byte) []byte {
		var pin mcpgate.Pin
		if l.moved = json.Unmarshal(old, &pin) != nil || pin.Seen != l.digest; l.moved {
			return nil
		}
		return update(old)
	})
}

// eventID makes an id as deed.EventID has it: 48 bits of milliseconds and 80 of
// randomness, as 26 digits of Crockford's base32.
func eventID(now time.Time) deed.EventID {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var raw [18]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli()))
	_, _ = rand.Read(raw[8:]) // never fails
	n, base, rest := new(big.Int).SetBytes(raw[:]), big.NewInt(32), new(big.Int)
	text := make([]byte, 26)
	for i := range text {
		n.DivMod(n, base, rest)
		text[len(text)-1-i] = digits[rest.Int64()]
	}
	return deed.EventID("ev_" + string(text))
}
