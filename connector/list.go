// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/deed-run/deed"
)

// Tools returns the result of an MCP tools/list: the tools, then the look-ups, in the order of the description.
func (c *Connector) Tools(context.Context) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(`{"tools":[`)
	for i, t := range c.tools {
		if i > 0 {
			out.WriteByte(',')
		}
		listing(&out, t.name, t.description, t.input, t.effect)
	}
	for i, l := range c.lookups {
		if i+len(c.tools) > 0 {
			out.WriteByte(',')
		}
		listing(&out, l.name, l.description, l.input, l.effect())
	}
	out.WriteString(`]}`)
	return out.Bytes(), nil
}

func listing(out *bytes.Buffer, name, description string, input []byte, effect deed.EffectClass) {
	out.WriteString(`{"name":`)
	out.Write(quoted(name))
	if description != "" {
		out.WriteString(`,"description":`)
		out.Write(quoted(description))
	}
	out.WriteString(`,"inputSchema":`)
	out.Write(input)
	reads, same := effect == deed.EffectReadOnly, effect == deed.EffectIdempotent
	out.WriteString(`,"annotations":{"readOnlyHint":` + strconv.FormatBool(reads) + `,"idempotentHint":` + strconv.FormatBool(reads || same) + `,"openWorldHint":true}}`)
}

// Lookup describes a look-up.
type Lookup struct {
	Name        string
	Description string
	// Input is the JSON schema of its arguments.
	Input       json.RawMessage
	Consistency Consistency
	Lag         time.Duration
	// Token reports whether it compares what was planted, so that its matches are the operation's own.
	Token bool
}

// Lookups lists the look-ups in the order of the description.
func (c *Connector) Lookups() []Lookup {
	var list []Lookup
	for _, l := range c.lookups {
		list = append(list, Lookup{l.name, l.description, bytes.Clone(l.input), l.consistency, l.lag, l.match != match{}})
	}
	return list
}
