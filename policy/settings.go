// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/deed-run/deed"
)

// ToolSettings is what a gateway needs of a tool's configuration beside its
// [deed.Rule]: how to read answers and what to add to the tool's schema.
type ToolSettings struct {
	// Failed lists what the tool's own texts mean; the first match counts.
	Failed  []FailedRule
	Receipt Receipt
	IsError IsError
	// DeedOperations offers deed's own read-only tool on the upstream.
	DeedOperations bool
	// CallIDs are the _meta names of stable client call ids.
	CallIDs []string
	// AddKeyArgument: the key argument is added to the tool's schema, and
	// required there when KeyRequired is set. Reads never get one, whatever
	// this says.
	AddKeyArgument bool
	KeyRequired    bool
	// OwnKeyArgument names the argument of the tool's own schema that carries
	// the key, if the schema has it.
	OwnKeyArgument string
	// KeyHeader and KeyMeta carry the provider's own key: a header of the request,
	// or a member of _meta. A key within the arguments is planted.
	KeyHeader string
	KeyMeta   string
	// Risk is what the tool's approval says of how much care it takes, empty for
	// nothing.
	Risk string
	// Search is the address of a page that finds the mark of an operation, with
	// {marker} in it; "" for none.
	Search string
	// Probe looks a lost effect up, Resource reads back what was created, Subject
	// the version of what a call is about; nil for none.
	Probe        *Probe
	Resource     *Resource
	Subject      *Subject
	AnswerWithin time.Duration
	Timeout      time.Duration
	TimeoutHard  time.Duration
	Late         time.Duration
}

// The arguments of a tool's own schema that carry a key: of any tool, and of a
// tool whose identity is that of a created resource.
const (
	keyArgument      = "idempotency_key"
	creationArgument = "client_id"
)

// ApprovalOf is when calls of a tool wait for a person, nil when none does.
func (c *Config) ApprovalOf(tool deed.Tool) *Approval {
	entry, _ := c.entry(tool)
	return entry.Approval
}

// ToolSettings returns the settings of a tool, configured or not.
func (c *Config) ToolSettings(tool deed.Tool) ToolSettings {
	entry, _ := c.entry(tool)
	settings := ToolSettings{
		Failed: entry.Failed, Receipt: entry.Receipt, IsError: entry.IsError,
		DeedOperations: c.Defaults.DeedOperations, CallIDs: c.Defaults.CallIDs,
		AddKeyArgument: entry.Key.Need != deed.NeedRuntime && len(entry.Key.From) == 0,
		KeyRequired:    entry.Key.Need == deed.NeedRequired,
		OwnKeyArgument: keyArgument,
		AnswerWithin:   entry.AnswerWithin, Timeout: entry.Timeout,
		TimeoutHard: entry.TimeoutHard, Late: entry.Late,
		Probe: entry.Reconcile, Resource: entry.Resource, Subject: entry.Subject,
	}
	if entry.ProviderKey.travels() {
		settings.KeyHeader, settings.KeyMeta = entry.ProviderKey.Header, entry.ProviderKey.Meta
	}
	if entry.Identity == deed.FamilyCreation {
		settings.OwnKeyArgument = creationArgument
	}
	if entry.Approval != nil {
		settings.Risk = entry.Approval.Risk
	}
	if entry.Marker != nil {
		settings.Search = entry.Marker.Search
	}
	return settings
}
