// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/policy"
)

// provable refuses a tool that its server does not list, and arguments that the
// tool's schema does not allow: the checks would be about a call that is refused.
// It asks for the list and calls nothing. A server that lists nothing, or cannot
// be asked, is left to the checks, and so is a tool that the configuration names:
// the gateway sends those.
func (a *app) provable(ctx context.Context, config *policy.Config, o proveOptions, arguments json.RawMessage) error {
	tool := deed.Tool(o.tool)
	if _, configured := config.Upstreams[tool.Upstream()]; !configured {
		return nil
	}
	said := io.Discard
	if o.verbose {
		said = a.Stderr
	}
	waiting, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	listed, err := daemon.ListServer(waiting, config, tool.Upstream(), a.Env, said)
	if err != nil || len(listed) == 0 {
		return ctx.Err()
	}
	i := slices.IndexFunc(listed, func(t policy.ListedTool) bool { return t.Tool == tool })
	if i < 0 {
		if _, named := config.Tools[tool]; named {
			return nil
		}
		return unlistedTool(tool, listed, o.config)
	}
	// {{n}} becomes such a word in every check.
	filled := bytes.ReplaceAll(arguments, []byte("{{n}}"), []byte("deed-prove-1"))
	definition, err := json.Marshal(map[string]any{"name": tool.Name(), "inputSchema": listed[i].Schema})
	if err != nil {
		return fmt.Errorf("the schema of %s: %w; nothing was sent", tool, err)
	}
	if fault, _ := mcpgate.CheckDefinition(definition, filled); fault != "" {
		return fail(exitUsage, "--args are not what the schema of %s allows: %s; nothing was sent; correct the arguments", tool, fault)
	}
	return nil
}

func unlistedTool(tool deed.Tool, listed []policy.ListedTool, config string) error {
	names := make([]string, len(listed))
	for i, t := range listed {
		names[i] = string(t.Tool)
	}
	remedy := place{config: config}.command("tools") + " shows what it lists"
	if near := policy.Nearest(string(tool), names); near != "" {
		remedy = "write " + near
	}
	return fail(exitUsage, "--tool: %s lists no %s; nothing was sent; %s", tool.Upstream(), tool.Name(), remedy)
}
