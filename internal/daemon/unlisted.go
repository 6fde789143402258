// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// Unlisted tells of each entry under tools: of the configuration that names a
// tool which its upstream does not list. Such an entry is most likely misspelt,
// and the tool that it means runs without the entry's rules.
func Unlisted(config *policy.Config, upstream string, listed []policy.ListedTool) []string {
	names := make([]string, len(listed))
	for i, tool := range listed {
		names[i] = string(tool.Tool)
	}
	var texts []string
	for _, tool := range slices.Sorted(maps.Keys(config.Tools)) {
		if tool.Upstream() != upstream || slices.Contains(names, string(tool)) {
			continue
		}
		texts = append(texts, filepath.Base(config.File)+" names "+string(tool)+", which the upstream "+upstream+" does not list: its rules bind nothing; "+policy.RemedyOfUnlisted(tool, names))
	}
	return texts
}

// tellUnlisted tells whoever runs a gateway of such entries, at the first
// complete list of each upstream.
func (c *Core) tellUnlisted(o Options) func(upstream string, names []string) {
	var told sync.Map
	return func(upstream string, names []string) {
		if _, again := told.LoadOrStore(upstream, true); again || len(c.Config.Tools) == 0 {
			return
		}
		listed := make([]policy.ListedTool, 0, len(names))
		for _, name := range names {
			listed = append(listed, policy.ListedTool{Tool: deed.Tool(upstream + "/" + name)})
		}
		for _, text := range Unlisted(c.Config, upstream, listed) {
			o.Log(text)
		}
	}
}

// listPatience bounds how long a server may take to start and to list its tools.
const listPatience = time.Minute

// askLists asks the servers of configured tools for their lists as a gateway
// starts, so that a misspelt entry is told before a call goes out without its
// rules. Each is asked in a session that ends with the answer, and nobody waits:
// one that is down, or lists nothing, is compared when a client asks it. The
// returned function ends what is under way.
func (c *Core) askLists(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listPatience)
	asked := map[string]bool{}
	for tool := range c.Config.Tools {
		name := tool.Upstream()
		upstream, served := c.upstreams[name]
		if asked[name] || !served {
			continue
		}
		asked[name] = true
		c.looks.Go(func() {
			listed, err := ListTools(ctx, upstream, name)
			if err != nil || len(listed) == 0 {
				return
			}
			names := make([]string, len(listed))
			for i, tool := range listed {
				names[i] = tool.Tool.Name()
			}
			c.listed(name, names)
		})
	}
	return cancel
}
