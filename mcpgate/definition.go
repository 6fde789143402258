// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// keyArgument is the argument that deed adds to the schemas of tools that change things.
const keyArgument = "idempotency_key"

// Definition is what an upstream says of one of its tools.
type Definition struct {
	Name string
	// Raw is the tool as it stood in the list.
	Raw json.RawMessage
	// Digest covers name, inputSchema, outputSchema and annotations: what a change of puts the tool into quarantine.
	Digest deed.Digest
	// Description covers title and description: a change of them warns.
	Description deed.Digest

	ReadOnlyHint    *bool
	DestructiveHint *bool
	IdempotentHint  *bool

	InputSchema     json.RawMessage
	HasOutputSchema bool
	schema          *schema
}

func define(raw json.RawMessage) (*Definition, bool) {
	name, ok := rawjson.Text(raw, "name")
	if !ok {
		return nil, false
	}
	d := &Definition{Name: name, Raw: raw}
	d.ReadOnlyHint = hint(raw, "readOnlyHint")
	d.DestructiveHint = hint(raw, "destructiveHint")
	d.IdempotentHint = hint(raw, "idempotentHint")
	d.InputSchema, _ = rawjson.Get(raw, "inputSchema")
	_, d.HasOutputSchema = rawjson.Get(raw, "outputSchema")
	d.Digest = digestOf(raw, "name", "inputSchema", "outputSchema", "annotations")
	d.Description = digestOf(raw, "title", "description")
	d.schema = &schema{raw: d.InputSchema}
	return d, true
}

// hint tells an absent hint from a false one.
func hint(raw json.RawMessage, name string) *bool {
	value, ok := rawjson.Get(raw, "annotations", name)
	if !ok || string(value) != "true" && string(value) != "false" {
		return nil
	}
	b := string(value) == "true"
	return &b
}

// digestOf hashes members in canonical form, so that another order or spacing is no change. A schema that has no canonical form is hashed
// as it stands.
func digestOf(raw json.RawMessage, members ...string) deed.Digest {
	picked := []byte("{}")
	for _, name := range members {
		if value, ok := rawjson.Get(raw, name); ok {
			picked, _ = rawjson.Set(picked, value, name)
		}
	}
	if canonical, err := canon.CanonicalJSON(picked); err == nil {
		picked = canonical
	}
	sum := sha256.Sum256(picked)
	return deed.Digest("sha256:" + hex.EncodeToString(sum[:]))
}
