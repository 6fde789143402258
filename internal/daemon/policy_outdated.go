// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"sync"

	"github.com/deed-run/deed"
)

// outdated are the tools whose calls this process refuses because another gateway
// of its ledger has other rules for them (policy_outdated).
type outdated struct {
	mu    sync.Mutex
	tools map[deed.Tool]bool
}

// hear returns what to tell whoever runs the gateway: once for a tool, and again
// only when calls of it have begun here in between.
func (o *outdated) hear(event deed.Event) (text string) {
	refused := event.Reason == deed.ReasonPolicyOutdated
	if !refused && event.Name != deed.EventBegun {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch known := o.tools[event.Tool]; {
	case !refused:
		delete(o.tools, event.Tool)
	case !known:
		if o.tools == nil {
			o.tools = map[deed.Tool]bool{}
		}
		o.tools[event.Tool] = true
		return fmt.Sprintf("calls of %s are refused here (policy_outdated), nothing is sent: a gateway on the same ledger has begun to use other rules for it; restart this gateway with the newer configuration file, or the other one where this one has it", event.Tool)
	}
	return ""
}

func (o *outdated) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.tools) > 0
}
