// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"encoding/json"
	"fmt"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// heartbeat tells a waiting client that its call goes on; nil tells nobody.
type heartbeat struct {
	quit     chan struct{}
	ended    chan struct{}
	upstream chan json.RawMessage
}

func (b *heartbeat) stop() {
	if b == nil {
		return
	}
	close(b.quit)
	<-b.ended
}

// keepAlive sends progress every so often to a client that gave a token. Values rise: once the upstream has reported, from its latest on.
func (g *Gate) keepAlive(c *ToolCall, token json.RawMessage) *heartbeat {
	if token == nil {
		return nil
	}
	b := &heartbeat{quit: make(chan struct{}), ended: make(chan struct{}), upstream: make(chan json.RawMessage, 16)}
	go func() {
		defer close(b.ended)
		last, beats := json.RawMessage("0"), 0
		for {
			select {
			case <-b.quit:
				return
			case last = <-b.upstream:
				beats = 0
			case <-g.clock.After(g.progress):
				beats++
				value, err := json.Number(last).Float64()
				if err != nil {
					continue
				}
				params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%g,"message":"still running"}`, token, value+float64(beats)*1e-6)
				c.Progress(RequestMessage(nil, "notifications/progress", params))
			}
		}
	}()
	return b
}

// heard notes the upstream's own progress.
func (b *heartbeat) heard(m Message) {
	if b == nil {
		return
	}
	if value, ok := rawjson.Get(m.Params, "progress"); ok {
		select {
		case b.upstream <- value:
		default:
		}
	}
}
