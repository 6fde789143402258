// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// schemaPatience bounds the wait for a server that is asked what its tools take.
const schemaPatience = 5 * time.Second

// checkEdited says what a tool's input schema finds wrong with arguments that a
// person edited. The schema is that of the definition that this process knows, or of
// the one that is pinned: another one would be in quarantine. A daemon asks the
// server of a tool of which neither is known. What is no tool of a server, such as a
// route, has no schema. Arguments that nobody can check are refused: they would be
// sent on a person's word, who cannot see the mistake.
func (c *Core) checkEdited(ctx context.Context, op *deed.Operation, arguments []byte) (wrong string, err error) {
	if wrong, known := c.gate.Check(ctx, nil, nil, op.Tool, arguments); known {
		return wrong, nil
	}
	pin, pinned, err := c.Pin(ctx, op.Tool)
	if err != nil {
		return "", fmt.Errorf("%w; try again, or deny it and say in the reason what to change", err)
	}
	if pinned {
		if wrong, known := mcpgate.CheckDefinition(pin.Definition, arguments); known {
			return wrong, nil
		}
	}
	_, here := c.upstreams[op.Tool.Upstream()]
	switch {
	case !here && op.Definition == "":
		return "", nil
	case !here || !c.asks:
		return "", fmt.Errorf("no gateway on this ledger has seen what %s takes; edit it by --server with the daemon that serves it, or deny it and say in the reason what to change", op.Tool)
	}
	return c.askedToCheck(ctx, op.Tool, arguments)
}

// askedToCheck asks a tool's server for the schema, within schemaPatience.
func (c *Core) askedToCheck(ctx context.Context, tool deed.Tool, arguments []byte) (string, error) {
	type finding struct {
		wrong string
		err   error
	}
	found := make(chan finding, 1)
	c.looks.Go(func() {
		link, meta, err := c.calls.open(ctx, tool.Upstream())
		if err != nil {
			found <- finding{err: errors.New(deed.Told(err.Error()))}
			return
		}
		wrong, known := c.gate.Check(ctx, link, meta, tool, arguments)
		if !known {
			err = errors.New("it lists no such tool")
		}
		found <- finding{wrong, err}
	})
	var why error
	select {
	case f := <-found:
		if f.err == nil {
			return f.wrong, nil
		}
		why = f.err
	case <-c.Clock.After(schemaPatience):
		why = fmt.Errorf("no answer within %s", schemaPatience)
	case <-ctx.Done():
		why = ctx.Err()
	}
	return "", fmt.Errorf("the server %s does not say what %s takes (%w); see that it can be reached and edit it again, or deny it and say in the reason what to change", tool.Upstream(), tool, why)
}
