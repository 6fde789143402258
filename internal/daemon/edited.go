// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"github.com/deed-run/deed"
)

// schemaPatience bounds the wait for a server that is asked what its tools take.
const schemaPatience = 5 * time.Second

// checkEdited says what a tool's input schema finds wrong with arguments that a
// person edited. A daemon asks the tool's server where it does not know the schema
// yet; arguments that nobody can check in time are let pass, and the server will
// judge them.
func (c *Core) checkEdited(ctx context.Context, tool deed.Tool, arguments []byte) string {
	if wrong, known := c.gate.Check(ctx, nil, nil, tool, arguments); known || !c.asks {
		return wrong
	}
	checked := make(chan string, 1)
	c.looks.Go(func() {
		wrong := ""
		if link, meta, err := c.calls.open(ctx, tool.Upstream()); err == nil {
			wrong, _ = c.gate.Check(ctx, link, meta, tool, arguments)
		}
		checked <- wrong
	})
	select {
	case wrong := <-checked:
		return wrong
	case <-c.Clock.After(schemaPatience):
	case <-ctx.Done():
	}
	return ""
}
