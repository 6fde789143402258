// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// Settings is the part of a deed.Store that pins are kept in. Without update a setting is only read.
type Settings interface {
	Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error)
}

// Pin is the definition of a tool that was seen first or accepted last, and the latest one that differs from it.
type Pin struct {
	Tool        deed.Tool   `json:"tool"`
	Accepted    deed.Digest `json:"accepted"`
	Description deed.Digest `json:"description"`
	// Definition is the accepted definition as the upstream wrote it.
	Definition json.RawMessage `json:"definition,omitempty"`
	// Seen and SeenDefinition are a changed definition that nobody has accepted yet; empty when there is none.
	Seen           deed.Digest     `json:"seen,omitempty"`
	SeenDefinition json.RawMessage `json:"seen_definition,omitempty"`
	At             time.Time       `json:"at"`
}

// Quarantined reports whether a changed definition waits for a person.
func (p Pin) Quarantined() bool { return p.Seen != "" }

// Pins trusts a tool's definition on first use and notices when it changes: schema, hints and output schema quarantine the tool, a
// description only warns. It is safe for concurrent use, by several processes too.
type Pins struct {
	Settings Settings
	// Now is the clock, by default time.Now.
	Now func() time.Time
	// Command writes a command of deed that a warning names, with what leads it to the
	// same ledger; by default the words alone.
	Command func(words ...string) string

	mu    sync.Mutex
	known map[deed.Tool]Pin
}

func (p *Pins) command(words ...string) string {
	if p.Command == nil {
		return "deed " + strings.Join(words, " ")
	}
	return p.Command(words...)
}

// PinName is the name of the setting that holds a tool's pin.
func PinName(tool deed.Tool) string { return "pin/" + string(tool) }

// Check compares a definition with its pin and says whether the tool is quarantined, and what a person should know. An error means
// that the pin could not be read, so that nobody knows whether the tool has changed: call none that changes things then.
func (p *Pins) Check(ctx context.Context, tool deed.Tool, d *Definition) (quarantined bool, warning string, err error) {
	if p == nil || p.Settings == nil {
		return false, "", nil
	}
	p.mu.Lock()
	pin, ok := p.known[tool]
	p.mu.Unlock()
	if ok && pin.Accepted == d.Digest && pin.Description == d.Description && !pin.Quarantined() {
		return false, "", nil
	}
	var described deed.Digest
	change := func(old []byte) (updated []byte) {
		updated, described = p.change(old, tool, d)
		return updated
	}
	// Most pins stay as they are. Reading them needs no lock, which another process may hold for long.
	raw, err := p.Settings.Setting(ctx, PinName(tool), nil)
	if err == nil && change(raw) != nil {
		raw, err = p.Settings.Setting(ctx, PinName(tool), change)
	}
	if err != nil {
		return false, "", fmt.Errorf("tool %s: its pinned definition cannot be read: %w", tool, err)
	}
	// Decoded afresh: into a RawMessage that is in use, encoding/json writes in place.
	pin = Pin{}
	if json.Unmarshal(raw, &pin) != nil {
		return false, "", nil
	}
	p.mu.Lock()
	if p.known == nil {
		p.known = map[deed.Tool]Pin{}
	}
	p.known[tool] = pin
	p.mu.Unlock()
	switch {
	case pin.Quarantined():
		return true, fmt.Sprintf("tool %s: its definition changed since it was pinned; calls are refused until it is accepted: %s; %s", tool, p.command("tools diff", string(tool)), p.command("tools accept", string(tool))), nil
	case described != "" && described != d.Description:
		return false, fmt.Sprintf("tool %s: its description changed", tool), nil
	}
	return false, "", nil
}

// change returns the pin as it becomes when the definition is seen, nil when it stays, and the digest of the description that was known.
func (p *Pins) change(old []byte, tool deed.Tool, d *Definition) (updated []byte, described deed.Digest) {
	var pin Pin
	if old == nil || json.Unmarshal(old, &pin) != nil {
		pin = Pin{Tool: tool, Accepted: d.Digest, Description: d.Description, Definition: d.Raw}
	}
	described = pin.Description
	switch {
	case pin.Accepted != d.Digest && pin.Seen == d.Digest, pin.Accepted == d.Digest && pin.Seen == "" && old != nil && described == d.Description:
		return nil, described
	case pin.Accepted != d.Digest:
		pin.Seen, pin.SeenDefinition = d.Digest, d.Raw
	default:
		pin.Seen, pin.SeenDefinition, pin.Description = "", nil, d.Description
	}
	pin.At = p.now()
	updated, err := json.Marshal(pin)
	if err != nil {
		return nil, described
	}
	return updated, described
}

// Accept makes the changed definition the pinned one. It reports whether there was any.
func (p *Pins) Accept(ctx context.Context, tool deed.Tool) (bool, error) {
	changed := false
	_, err := p.Settings.Setting(ctx, PinName(tool), func(old []byte) []byte {
		var pin Pin
		changed = false
		if old == nil || json.Unmarshal(old, &pin) != nil || !pin.Quarantined() {
			return nil
		}
		changed = true
		pin.Accepted, pin.Definition, pin.Seen, pin.SeenDefinition, pin.At = pin.Seen, pin.SeenDefinition, "", nil, p.now()
		pin.Description = digestOf(pin.Definition, "title", "description")
		updated, err := json.Marshal(pin)
		if err != nil {
			return nil
		}
		return updated
	})
	return changed, err
}

func (p *Pins) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}
