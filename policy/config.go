// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/deed-run/deed"
)

// Config is a checked deed.yaml. It is immutable and safe for concurrent use.
type Config struct {
	// File is the name under which the file was read; "" for the defaults of
	// [Bare].
	File string
	// Folder is what relative paths of the file start from.
	Folder string
	Ledger Ledger
	// Listen is the address of deed serve.
	Listen string
	// Tenant and Actor are those of unauthenticated local use.
	Tenant    deed.Tenant
	Actor     deed.Actor
	Auth      Auth
	Upstreams map[string]Upstream
	// HTTP are the APIs behind the reverse proxy, Routes what is said of their
	// requests, in the order of the file.
	HTTP   map[string]HTTPUpstream
	Routes []Route
	// Connectors are tools that deed makes itself, by name.
	Connectors map[string]Connector
	// Programs run their tools themselves, by name.
	Programs map[string]Program
	// Webhooks are told what waits for a person; Confirmations are providers that
	// tell by themselves what they did, by name.
	Webhooks      []Webhook
	Confirmations map[string]Confirmation
	Console       Console
	Budgets       map[string]deed.Budget
	Defaults      Defaults
	Tools         map[deed.Tool]Tool
	// Revision is the digest of the file's meaning: comments, order and
	// spelling do not change it, and neither do values that come from
	// variables.
	Revision string

	// lookers are tools that look-ups use, whose names say that they read.
	lookers map[deed.Tool]bool
	// named finds the routes that are tools of their own.
	named map[deed.Tool]int
	// described is what connectors say of their tools.
	described map[deed.Tool][]byte
}

// Terms are the settings that defaults hold for all tools and that one tool
// may change for itself.
type Terms struct {
	Mode          deed.Mode
	Key           deed.KeyRule
	ModelWindow   time.Duration
	AfterConflict deed.AfterConflict
	IsError       IsError
	AnswerWithin  time.Duration
	Timeout       time.Duration
	TimeoutHard   time.Duration
	Late          time.Duration
	Lease         time.Duration
	Wait          time.Duration
	MaxAge        time.Duration
	InputExpires  time.Duration
	Rate          deed.Limit
	Repeat        deed.Limit
	Retention     time.Duration
}

// IsError says what an error result of an MCP tool means.
type IsError string

const (
	// IsErrorUncertain: the effect may have happened all the same.
	IsErrorUncertain IsError = "uncertain"
	// IsErrorFailed: the server's error results are honest refusals.
	IsErrorFailed IsError = "failed"
)

// UnknownTool says what holds for a tool of which nothing is known.
type UnknownTool string

const (
	// UnknownNonIdempotent: it changes the world and repeats for nobody.
	UnknownNonIdempotent UnknownTool = "non_idempotent"
	// UnknownInfer: a name like get_order is a read, any other as above.
	UnknownInfer UnknownTool = "infer"
	// UnknownDeny: it is refused.
	UnknownDeny UnknownTool = "deny"
)

// Annotations says whether a pinned readOnlyHint is believed.
type Annotations string

const (
	AnnotationsTrust  Annotations = "trust"
	AnnotationsIgnore Annotations = "ignore"
)

// Defaults is what holds for every tool that does not say otherwise.
type Defaults struct {
	Terms
	UnknownTool UnknownTool
	Annotations Annotations
	// CallIDs are the _meta names of stable client call ids.
	CallIDs []string
	// DeedOperations offers deed's own read-only tool.
	DeedOperations bool
}

// Tool is the entry of one tool.
type Tool struct {
	// Provider names what the entry inherits from the catalogue, "" for nothing.
	Provider string
	// Effect is empty when it is not declared.
	Effect deed.EffectClass
	Terms
	Identity    deed.Family
	Scope       deed.KeyScope
	Matter      []string
	Fingerprint deed.FingerprintRules
	Deny        []DenyRule
	// TwinsExecuting lets an explicit key begin beside a live equal effect.
	TwinsExecuting bool
	Failed         []FailedRule
	Receipt        Receipt
	// Approval is nil when no call waits for a person, Spend when none costs.
	Approval *Approval
	Spend    *Spend
	// Marker, ClientID and ProviderKey are what the calls carry so that their
	// effect can be found; nil for none.
	Marker      *Marker
	ClientID    *ClientID
	ProviderKey *ProviderKey
	// MaxProcessing is how long the provider may still work on a request that
	// nobody waits for; 0 when it is not declared.
	MaxProcessing time.Duration
	// Reconcile looks a lost effect up, Resource reads back what was created,
	// Subject reads the version of what a call is about; nil for none.
	Reconcile *Probe
	Resource  *Resource
	Subject   *Subject

	// request: the arguments are those of a route.
	request bool
}

// defaultDefaults is the defaults block of an empty file.
func defaultDefaults() Defaults {
	rule := deed.DefaultRule("")
	return Defaults{
		Terms: Terms{
			Mode: rule.Mode, Key: rule.Key, ModelWindow: rule.ModelWindow, AfterConflict: rule.AfterConflict,
			IsError: IsErrorUncertain, AnswerWithin: rule.AnswerWithin, Timeout: rule.Timeout,
			TimeoutHard: rule.TimeoutHard, Late: rule.Late, Lease: rule.Lease, Wait: rule.Wait,
			MaxAge: rule.MaxAge, InputExpires: rule.InputExpires, Rate: rule.Rate, Repeat: rule.Repeat,
			Retention: rule.Retention,
		},
		UnknownTool:    UnknownNonIdempotent,
		Annotations:    AnnotationsTrust,
		CallIDs:        []string{"claudecode/toolUseId"},
		DeedOperations: true,
	}
}

func defaultConfig() *Config {
	return &Config{
		Listen: "127.0.0.1:7391", Tenant: "default", Actor: "local",
		Upstreams: map[string]Upstream{}, HTTP: map[string]HTTPUpstream{}, Budgets: map[string]deed.Budget{},
		Connectors: map[string]Connector{}, Programs: map[string]Program{}, Confirmations: map[string]Confirmation{}, Tools: map[deed.Tool]Tool{}, Defaults: defaultDefaults(),
		lookers: map[deed.Tool]bool{}, named: map[deed.Tool]int{}, described: map[deed.Tool][]byte{},
	}
}
