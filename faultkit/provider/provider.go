// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Lookup says what the read-only tools see.
type Lookup string

// The four kinds of provider that one can ask "did it happen?".
const (
	// Found tells the truth.
	Found Lookup = "found"
	// LookupAbsent sees nothing, ever: an index that lags without end.
	LookupAbsent Lookup = "absent"
	// Unavailable answers with an error.
	Unavailable Lookup = "unavailable"
	// NoLookup has no look-up tools at all.
	NoLookup Lookup = "none"
)

// Settings are the lasting traits of a provider, as opposed to its faults.
type Settings struct {
	Annotations Annotations `json:"annotations"`
	Lookup      Lookup      `json:"lookup"`
	// ProviderKeySupport makes the provider replay its stored answer for a key
	// that it has seen, and refuse the key for other arguments.
	ProviderKeySupport bool `json:"provider_key_support"`
	// UniqueIDs refuses a second effect of a tool under the same client_id
	// argument, with 409.
	UniqueIDs bool `json:"unique_ids"`
	// IndexLagMS is how many milliseconds look-ups stay behind the effects.
	IndexLagMS int `json:"index_lag_ms"`
	// LookupMS is how many milliseconds a look-up takes.
	LookupMS int `json:"lookup_ms"`
	// SSE answers MCP calls over HTTP as an event stream.
	SSE bool `json:"sse"`
	// Underscores lists tools as pay_charge; both spellings are always accepted.
	Underscores bool `json:"underscores"`
}

// DefaultSettings are an honest provider that answers look-ups and ignores keys.
func DefaultSettings() Settings { return Settings{Annotations: Honest, Lookup: Found} }

func (s Settings) validate() error {
	if !slices.Contains([]Annotations{Honest, Absent, Lying}, s.Annotations) {
		return fmt.Errorf("unknown annotations %q: nothing was set; use honest, absent or lying", s.Annotations)
	}
	if !slices.Contains([]Lookup{Found, LookupAbsent, Unavailable, NoLookup}, s.Lookup) {
		return fmt.Errorf("unknown lookup %q: nothing was set; use found, absent, unavailable or none", s.Lookup)
	}
	if s.IndexLagMS < 0 || s.LookupMS < 0 {
		return fmt.Errorf("index_lag_ms is %d and lookup_ms %d: nothing was set; use 0 or more", s.IndexLagMS, s.LookupMS)
	}
	return nil
}

// Options configure [Open].
type Options struct {
	// Dir holds the two ledgers; it is created. One process at a time may use it.
	Dir string
	// Settings; the zero value means DefaultSettings.
	Settings Settings
	// Faults are in force from the start. Uses that the request ledger in Dir
	// already shows are not granted again.
	Faults []Fault
	// Now is the clock of the ledgers; nil means time.Now.
	Now func() time.Time
}

// Provider serves the tools and keeps the ledgers. All methods may be called
// concurrently.
type Provider struct {
	ledgers ledgers
	faults  faults
	marks   marks
	now     func() time.Time
	holds   *holds
	gate    gate
	working sync.WaitGroup

	mu       sync.Mutex
	initial  Settings
	settings Settings
	// stored are the answers by provider key, asked the questions that wait for
	// a continuation, tasks the handles given out.
	stored   map[string]storedAnswer
	asked    map[string]Call
	tasks    map[string]*task
	sessions map[string]bool
	serial   int
	closed   bool
}

// Open reads the ledgers in the directory and returns a provider that goes on
// where they end.
func Open(o Options) (*Provider, error) {
	if o.Dir == "" {
		return nil, errors.New("open fixture provider: no directory for its ledgers: nothing was opened; set Options.Dir")
	}
	if o.Settings == (Settings{}) {
		o.Settings = DefaultSettings()
	}
	if err := o.Settings.validate(); err != nil {
		return nil, err
	}
	for _, f := range o.Faults {
		if err := f.validate(); err != nil {
			return nil, err
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create fixture directory: %w", err)
	}
	l, err := openLedgers(o.Dir)
	if err != nil {
		return nil, err
	}
	p := &Provider{ledgers: l, now: o.Now, holds: newHolds(), initial: o.Settings}
	p.forget()
	p.gate.open = make(chan struct{})
	p.faults.add(o.Faults...)
	p.faults.spend(l.requests.all())
	if err := p.restoreKeys(); err != nil {
		_ = l.close()
		return nil, err
	}
	return p, nil
}

// forget returns to the initial settings with no key, question, task or session.
func (p *Provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = p.initial
	p.stored = map[string]storedAnswer{}
	p.asked = map[string]Call{}
	p.tasks = map[string]*task{}
	p.sessions = map[string]bool{}
}

// Settings returns the traits in force.
func (p *Provider) Settings() Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// Configure replaces the traits until the next reset.
func (p *Provider) Configure(s Settings) error {
	if err := s.validate(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = s
	return nil
}

// SetFaults appends orders to misbehave; none is taken when one is wrong.
func (p *Provider) SetFaults(list ...Fault) error {
	for _, f := range list {
		if err := f.validate(); err != nil {
			return err
		}
	}
	for _, f := range list {
		if f.Fault == RefuseConn {
			p.gate.refuse()
			continue
		}
		p.faults.add(f)
	}
	return nil
}

// Release lets every held call of the tool (of all tools, when empty) go on, and
// accepts connections again.
func (p *Provider) Release(tool string) int {
	p.gate.accept()
	return p.holds.release(tool)
}

// ForgetSessions makes every MCP session that was handed out unknown, as a
// restart of a server does.
func (p *Provider) ForgetSessions() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = map[string]bool{}
}

// Reset empties both ledgers, drops every fault and returns to the settings that
// the provider was opened with. Held calls are dropped without an effect.
func (p *Provider) Reset() error {
	p.gate.accept()
	p.faults.clear()
	p.holds.drop()
	p.working.Wait()
	p.forget()
	err := p.ledgers.reset()
	p.marks.clear()
	return err
}

// Close drops held calls, waits for the others and closes the ledgers.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.holds.close()
	p.gate.accept()
	p.working.Wait()
	return p.ledgers.close()
}
