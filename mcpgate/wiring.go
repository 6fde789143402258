// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"encoding/json"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Wiring is what a Gate is told of one tool beside its rule: how identities travel, and which reads speak of it. The zero value is a tool of
// which nothing of that is configured. Functions are pure and safe for concurrent use.
type Wiring struct {
	// KeyArgument names the argument of the tool's own schema that carries the caller's key, where the schema has it: by default
	// idempotency_key, and for created resources usually client_id. It is forwarded untouched and no part of the effect.
	KeyArgument string
	// KeyHeader and KeyMeta carry the provider key of an operation upstream: as a header on HTTP, as a member of _meta anywhere. A key that
	// travels in an argument is part of the snapshot and needs neither.
	KeyHeader string
	KeyMeta   string
	// Resource, when set, tells a replay whether what was created is still there.
	Resource *Resource
	// Revision, when set, is read before anything is proposed or begun; what was approved for another one is not sent.
	Revision *Revision
	// Named says that the configuration names the tool, so that it is known although its server does not list it.
	Named bool
	// Look names the read-only tool that may show the effect; without it the Gate takes the one that is likely to.
	Look deed.Tool
}

// Resource reads what an operation has created.
type Resource struct {
	Tool deed.Tool
	// Arguments are those of the read, from the receipt of the creation.
	Arguments func(receipt deed.Receipt) ([]byte, error)
}

// Revision reads the version of what a call is about.
type Revision struct {
	Tool deed.Tool
	// Arguments are those of the read, from those of the call; Value is the version in the answer, an error when it has none.
	Arguments func(arguments []byte) ([]byte, error)
	Value     func(result []byte) (string, error)
}

// ownKey names the argument of the tool's own schema that carries the key, or "".
func ownKey(d *Definition, w Wiring) string {
	for _, name := range []string{w.KeyArgument, keyArgument} {
		if _, has := rawjson.Get(d.InputSchema, "properties", name); has && name != "" {
			return name
		}
	}
	return ""
}

// keyName is what the key is called in texts.
func (d *described) keyName() string {
	if d.own != "" {
		return d.own
	}
	return keyArgument
}

// confidential says why a call may not carry its key as an argument, or "": arguments are stored and shown, a confidential key never is.
func confidential(d *described, arguments json.RawMessage) string {
	if d.rule.Identity != deed.FamilySecret {
		return ""
	}
	if _, has := rawjson.Get(arguments, keyArgument); has {
		return "the key of this tool is confidential and is no argument; the program that calls sends it as a header or in _meta"
	}
	return ""
}

// withProviderKey puts the provider key of an operation into _meta, where it travels there.
func withProviderKey(params json.RawMessage, w Wiring, key string) (json.RawMessage, error) {
	if w.KeyMeta == "" || key == "" {
		return params, nil
	}
	return rawjson.Set(params, rawjson.Quote(key), "_meta", w.KeyMeta)
}
