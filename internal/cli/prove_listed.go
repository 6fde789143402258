// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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
	if err := named(tool, config); err != nil {
		return err
	}
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
	definition, err := json.Marshal(map[string]any{"name": tool.Name(), "inputSchema": listed[i].Schema})
	if err != nil {
		return fmt.Errorf("the schema of %s: %w; nothing was sent", tool, err)
	}
	if fault, _ := mcpgate.CheckDefinition(definition, filled(arguments)); fault != "" {
		return fail(exitUsage, "--args are not what the schema of %s allows: %s; nothing was sent; correct the arguments", tool, fault)
	}
	return nil
}

// filled are the arguments as one of the checks sends them: {{n}} becomes such a word.
func filled(arguments json.RawMessage) json.RawMessage {
	return bytes.ReplaceAll(arguments, []byte("{{n}}"), []byte("deed-prove-1"))
}

// named refuses a tool of which nobody can tell whose it is, and one that no server
// of the configuration has.
func named(tool deed.Tool, config *policy.Config) error {
	upstreams := slices.Sorted(maps.Keys(config.Upstreams))
	upstream, _, whole := strings.Cut(string(tool), "/")
	remedy := "write UPSTREAM/TOOL"
	_, connector := config.Connectors[upstream]
	_, known := config.Upstreams[upstream]
	switch {
	case whole && known:
		return nil
	case whole && connector:
		return fail(exitUsage, "--tool %s: %s is a connector, and a server's tools are all that can be proved; nothing was started", tool, upstream)
	case len(upstreams) == 0:
		return fail(exitUsage, "--tool %s: the configuration has no upstreams; nothing was started", tool)
	case whole:
		return fail(exitUsage, "--tool %s: the configuration has no upstream %s; nothing was started; it has %s", tool, upstream, strings.Join(upstreams, ", "))
	case len(upstreams) == 1:
		remedy = "write " + upstreams[0] + "/" + upstream
	default:
		remedy += ", where UPSTREAM is " + strings.Join(upstreams, ", ")
	}
	return fail(exitUsage, "--tool %s: it says not whose tool that is; nothing was started; %s", tool, remedy)
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
