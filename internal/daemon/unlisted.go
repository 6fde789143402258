// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

// Unlisted tells of each entry under tools: of the configuration that names a
// tool which its upstream does not list. Such an entry is most likely misspelt,
// and the tool that it means runs without the entry's rules.
func Unlisted(config *policy.Config, upstream string, listed []policy.ListedTool) []string {
	known := map[deed.Tool]bool{}
	for _, tool := range listed {
		known[tool.Tool] = true
	}
	var texts []string
	for _, advice := range policy.Advise(config, listed) {
		if _, configured := config.Tools[advice.Tool]; !configured || known[advice.Tool] || advice.Tool.Upstream() != upstream {
			continue
		}
		remedy := strings.TrimPrefix(strings.Join(advice.Better, "; "), "no upstream lists it: ")
		texts = append(texts, filepath.Base(config.File)+" names "+string(advice.Tool)+", which the upstream "+upstream+" does not list: its rules bind nothing; "+remedy)
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
