// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"time"

	"github.com/deed-run/deed/internal/canon"
)

// Policy resolves what is configured for a tool. Implementations are safe for
// concurrent use and never block on the network.
type Policy interface {
	// Rule returns the rule for the tool, given what its upstream says of it.
	// What the rule leaves open the Runtime fills as [DefaultRule] has it.
	Rule(tool Tool, facts ToolFacts) Rule
}

// ToolFacts is what is known of a tool from its upstream. Hints are hints:
// only policy turns them into an effect class.
type ToolFacts struct {
	// Definition is the digest of the tool's pinned definition, empty when
	// the tool is not described.
	Definition Digest
	// ReadOnlyHint, DestructiveHint and IdempotentHint are nil when absent.
	ReadOnlyHint    *bool
	DestructiveHint *bool
	IdempotentHint  *bool
	// UpstreamIdentity tells where the effect would go.
	UpstreamIdentity string
	// Quarantined: the definition changed and nobody has accepted it yet.
	Quarantined bool
}

// Mode says whether rules bind or only observe.
type Mode string

const (
	ModeEnforce Mode = "enforce"
	// ModeObserve lets everything run and records the would-be decision; no
	// invariant holds in it.
	ModeObserve Mode = "observe"
)

// Need says whether a call must carry a key.
type Need string

const (
	NeedRequired Need = "required"
	NeedOptional Need = "optional"
	// NeedRuntime: required, and only from a runtime carrier; nothing is
	// added to the tool's schema.
	NeedRuntime Need = "runtime"
)

// KeyRule says where a tool's keys come from.
type KeyRule struct {
	Need Need
	// From, when set, derives the key from the named parts: "tenant",
	// "actor", "tool", "meta.<name>", or a JSON pointer into the arguments.
	From []string
	// Before holds earlier derivations that are still live: operations begun
	// under them are found, and new ones are inserted under all of them.
	Before [][]string
}

// KeyScope says who shares a key: everybody of the tenant or one actor.
type KeyScope string

const (
	ScopeTenant KeyScope = "tenant"
	ScopeActor  KeyScope = "actor"
)

// FingerprintRules is the fingerprint block of one tool; see docs for the
// options. The zero value takes every argument as part of the effect.
type FingerprintRules canon.Rules

// Limit allows N events per duration Per; a negative N allows any number.
type Limit struct {
	N   int
	Per time.Duration
}

// ProviderKeyRule declares that the provider honours a key of its own.
type ProviderKeyRule struct {
	// Retention is how long the provider remembers a key after its first use;
	// Margin is taken off it, so that a key is never presented too late.
	Retention time.Duration
	Margin    time.Duration
	// Place says in a word where the key is presented, such as the name of a header.
	// A key that was presented in another place is not presented again. Empty where
	// the place never changes.
	Place string
	// Mint makes the key of an operation from 32 random bytes, in the
	// provider's alphabet and length. Nil mints a UUIDv4.
	Mint func(random [32]byte) string
}

// ApprovalRule says which calls a person must consent to, and how.
type ApprovalRule struct {
	// When reports whether this call needs consent; nil: every call does. A
	// condition that cannot be evaluated reports true. It sees the arguments
	// with the defaults of the tool's schema filled in.
	When func(arguments []byte, principal Principal) bool
	// Approvers are the actors who may decide; empty: whoever has the right to
	// approve.
	Approvers []Actor
	// Quorum is how many of them must agree; 0 means 1.
	Quorum int
	// Expires is how long a proposal and its approval live; 0 means 24 h.
	Expires time.Duration
	// OnCall leaves the dispatch to the caller's next call; otherwise a gateway
	// runs the frozen snapshot when it is approved.
	OnCall bool
	// Self lets whoever asked approve it.
	Self bool
}

// SpendRule books the amount of a call in a budget before it is sent.
type SpendRule struct {
	Budget Budget
	// Amount reads what a call costs from its arguments; the error is for
	// people and refuses the call.
	Amount func(arguments []byte) (Amount, error)
	// Actual reads what it did cost from the upstream's answer; false when the
	// answer does not say. Nil never says.
	Actual func(result []byte) (Amount, bool)
}

// Budget is a limit on what operations may cost together.
type Budget struct {
	Name     string
	Limit    Amount
	Currency string
	// Window is how far back bookings count; Calendar, when set ("day", "week",
	// "month", UTC), counts from the last boundary instead.
	Window   time.Duration
	Calendar string
	// Scope says whose operations share the limit: "tenant" (default), "actor",
	// "tool" or "run" (meta "run").
	Scope string
}

// Amount is an exact sum of money in millionths of the currency's unit.
type Amount int64

// Planting says what is written into a call before it is frozen, so that the
// effect can be found again. It belongs to the snapshot, never to the
// fingerprint.
type Planting struct {
	// Plant returns the arguments with the marks in them. It is pure.
	Plant func(arguments []byte, marks Marks) ([]byte, error)
	// Strip takes out of arguments what Plant wrote there with the same marks, and
	// leaves what is not there alone; nil where that cannot be told. It is pure.
	// People edit only calls that can be stripped.
	Strip func(planted []byte, marks Marks) ([]byte, error)
	// ClientID makes the identity of the created resource from 32 bytes that
	// are the operation's own, in the provider's alphabet; nil plants none.
	ClientID func(own [32]byte) string
}

// Marks are what an operation can be recognised by at its provider.
type Marks struct {
	// Marker is an opaque text of 26 letters and digits.
	Marker   string `json:"marker,omitempty"`
	ClientID string `json:"client_id,omitempty"`
	// ProviderKey is kept beside the marks, in the attempt.
	ProviderKey string `json:"-"`
}

// AfterConflict says what becomes of refused content under a fresh model key.
type AfterConflict string

const (
	AfterConflictHold AfterConflict = "hold"
	AfterConflictWarn AfterConflict = "warn"
)

// Rule is everything that policy says of one tool, resolved. The zero value
// of a duration means the default of [DefaultRule].
type Rule struct {
	Tool Tool
	// Effect is the class, Why the sentence that says how it was found.
	Effect EffectClass
	Why    string
	Mode   Mode

	Key      KeyRule
	Identity Family
	Scope    KeyScope
	// Matter lists the pointers that make up the business subject.
	Matter      []string
	Fingerprint FingerprintRules
	// Account, when declared, is the upstream identity.
	Account string
	// SentTo, when known, is the upstream identity of where this process sends
	// the tool's calls; LookedUpAt that of where it looks their effects up, when
	// that is elsewhere. What went to one place is never looked up at another,
	// where it cannot be found. Neither is part of the Hash.
	SentTo     string
	LookedUpAt string

	// Deny, when it returns a text, refuses the call. It sees the frozen
	// argument bytes; nil never refuses.
	Deny func(arguments []byte, principal Principal) string
	// NeedsApproval, when it returns true, holds the operation for a person.
	NeedsApproval func(arguments []byte, principal Principal) bool
	// Approval, when set, says more than NeedsApproval, which it replaces.
	Approval *ApprovalRule
	// Spend books what a call costs; nil costs nothing.
	Spend *SpendRule
	// Conditions are the sources of Deny and NeedsApproval: functions cannot
	// be compared, so these stand for them in Hash.
	Conditions []string
	// ApprovalExpires is how long a proposal and its approval live.
	ApprovalExpires time.Duration

	ProviderKey *ProviderKeyRule
	// Planting marks the calls so that look-ups find them; nil marks nothing.
	Planting *Planting
	// MaxProcessing is how long the provider may still work on a request that
	// nobody waits for, as declared; 0: not declared, and absence never counts.
	MaxProcessing time.Duration
	// ReadLag is the worst time after which the look-up shows an effect.
	ReadLag time.Duration
	// GiveUp is how long look-ups go on before a person is asked; 0: no look-up
	// is configured.
	GiveUp time.Duration
	// ReconcileInline lets a call that meets an uncertain operation wait for one
	// look-up.
	ReconcileInline bool

	// TwinsExecuting lets an explicit key begin beside a live equal effect.
	TwinsExecuting bool
	// TwinsWithin makes a keyless call younger than this a replay of its
	// committed twin; HTTP routes only.
	TwinsWithin   time.Duration
	AfterConflict AfterConflict

	Lease        time.Duration
	Wait         time.Duration
	AnswerWithin time.Duration
	Timeout      time.Duration
	TimeoutHard  time.Duration
	Late         time.Duration
	MaxAge       time.Duration
	ModelWindow  time.Duration
	InputExpires time.Duration
	Retention    time.Duration

	Rate   Limit
	Repeat Limit

	// Revision names the policy as a whole, Hash what decides fingerprint,
	// key, approval and budget of this tool; the Runtime computes Hash.
	Revision string
	Hash     Digest
}

// Mutates reports whether running the tool changes the world.
func (r Rule) Mutates() bool { return r.Effect != EffectReadOnly }

// DefaultRule is what holds for a tool of which nothing is configured: it
// changes the world, needs a key, and repeats for nobody.
func DefaultRule(tool Tool) Rule {
	return Rule{
		Tool:            tool,
		Effect:          EffectNonIdempotent,
		Why:             "nothing is known of it",
		Mode:            ModeEnforce,
		Key:             KeyRule{Need: NeedRequired},
		Identity:        FamilyOperation,
		Scope:           ScopeTenant,
		AfterConflict:   AfterConflictHold,
		ApprovalExpires: 24 * time.Hour,
		Lease:           30 * time.Second,
		Wait:            25 * time.Second,
		AnswerWithin:    50 * time.Second,
		Timeout:         10 * time.Minute,
		TimeoutHard:     time.Hour,
		Late:            10 * time.Minute,
		MaxAge:          24 * time.Hour,
		ModelWindow:     24 * time.Hour,
		InputExpires:    time.Hour,
		Retention:       720 * time.Hour,
		Rate:            Limit{600, time.Minute},
		Repeat:          Limit{20, 5 * time.Minute},
	}
}

// FixedPolicy gives every tool one rule, with the tool's name put in. It
// serves programs that configure in Go. A rule is found by the whole name,
// upstream/tool: one under any other name is never used, and its tool runs by
// [DefaultRule], without a consent and without a budget.
type FixedPolicy map[Tool]Rule

// Rule returns the tool's entry, or the default rule.
func (p FixedPolicy) Rule(tool Tool, _ ToolFacts) Rule {
	if rule, ok := p[tool]; ok {
		rule.Tool = tool
		return rule
	}
	return DefaultRule(tool)
}

// complete fills what a rule leaves open with the defaults.
func (r Rule) complete() Rule {
	d := DefaultRule(r.Tool)
	orDefault(&r.Effect, d.Effect)
	orDefault(&r.Mode, d.Mode)
	orDefault(&r.Key.Need, d.Key.Need)
	orDefault(&r.Identity, d.Identity)
	orDefault(&r.Scope, d.Scope)
	orDefault(&r.AfterConflict, d.AfterConflict)
	if r.Approval != nil && r.Approval.Expires > 0 {
		r.ApprovalExpires = r.Approval.Expires
	}
	orDefault(&r.ApprovalExpires, d.ApprovalExpires)
	orDefault(&r.Lease, d.Lease)
	orDefault(&r.Wait, d.Wait)
	orDefault(&r.AnswerWithin, d.AnswerWithin)
	orDefault(&r.Timeout, d.Timeout)
	orDefault(&r.TimeoutHard, d.TimeoutHard)
	orDefault(&r.Late, d.Late)
	orDefault(&r.MaxAge, d.MaxAge)
	orDefault(&r.ModelWindow, d.ModelWindow)
	orDefault(&r.InputExpires, d.InputExpires)
	orDefault(&r.Retention, d.Retention)
	orDefault(&r.Rate, d.Rate)
	orDefault(&r.Repeat, d.Repeat)
	return r
}

func orDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
