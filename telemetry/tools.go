// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"sync"

	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel/attribute"
)

// toolNames bounds the number of tools that appear in span names and labels:
// the name in a request is the caller's choice.
type toolNames struct {
	known func(deed.Tool) bool
	limit int

	mu       sync.Mutex
	admitted map[deed.Tool]bool
}

// admits reports whether the tool has a name of its own.
func (t *toolNames) admits(tool deed.Tool) bool {
	if t.known != nil {
		return t.known(tool)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.admitted[tool] {
		return true
	}
	if len(t.admitted) >= t.limit || len(tool) > maxText {
		return false
	}
	if t.admitted == nil {
		t.admitted = map[deed.Tool]bool{}
	}
	t.admitted[tool] = true
	return true
}

// name is the tool's own name, or `_other`.
func (t *toolNames) name(tool deed.Tool) string {
	if t.admits(tool) {
		return tool.Name()
	}
	return toolOther
}

// labels are the two names of a tool on deed's own metrics.
func (t *toolNames) labels(tool deed.Tool) []attribute.KeyValue {
	if !t.admits(tool) {
		return []attribute.KeyValue{keyToolName.String(toolOther), keyAgentTool.String(toolOther)}
	}
	return []attribute.KeyValue{keyToolName.String(tool.Name()), keyAgentTool.String(string(tool))}
}
