// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"sync"
	"time"
)

// hold is a call that waits to be let go.
type hold struct {
	tool string
	end  chan bool // true: go on; false: drop
}

// holds are the calls that a fault keeps waiting.
type holds struct {
	mu      sync.Mutex
	waiting map[*hold]struct{}
	changed chan struct{}
	closed  bool
}

func newHolds() *holds {
	return &holds{waiting: map[*hold]struct{}{}, changed: make(chan struct{})}
}

// wait blocks until a release, the delay (when positive) or gone, and says
// whether to go on. A nil gone means that the caller's leaving changes nothing.
func (h *holds) wait(tool string, delay time.Duration, gone <-chan struct{}) bool {
	w := &hold{tool: tool, end: make(chan bool, 1)}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return false
	}
	h.waiting[w] = struct{}{}
	h.signal()
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting, w)
		h.signal()
	}()
	var timer <-chan time.Time
	if delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		timer = t.C
	}
	select {
	case goOn := <-w.end:
		return goOn
	case <-timer:
		return true
	case <-gone:
		return false
	}
}

// signal wakes watchers; the caller holds the lock.
func (h *holds) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *holds) release(tool string) int { return h.finish(tool, true) }

func (h *holds) drop() { h.finish("", false) }

func (h *holds) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.drop()
}

func (h *holds) finish(tool string, goOn bool) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for w := range h.waiting {
		if tool != "" && tool != w.tool {
			continue
		}
		select {
		case w.end <- goOn:
			n++
		default:
		}
	}
	return n
}

// held counts the waiting calls of a tool and returns a channel that closes at
// the next change.
func (h *holds) held(tool string) (int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for w := range h.waiting {
		if tool == "" || tool == w.tool {
			n++
		}
	}
	return n, h.changed
}

// gate says whether connections are accepted. Its channel is closed while they
// are refused.
type gate struct {
	mu       sync.Mutex
	refusing bool
	open     chan struct{}
	listen   []func(refusing bool)
}

// state returns whether connections are refused and, while they are not, a
// channel that closes when they will be.
func (g *gate) state() (refusing bool, closes <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusing, g.open
}

func (g *gate) refuse() { g.set(true) }
func (g *gate) accept() { g.set(false) }

func (g *gate) set(refusing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refusing == refusing {
		return
	}
	g.refusing = refusing
	if refusing {
		close(g.open)
	} else {
		g.open = make(chan struct{})
	}
	for _, f := range g.listen {
		f(refusing)
	}
}

// watch calls f at every change, under the gate's lock.
func (g *gate) watch(f func(refusing bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listen = append(g.listen, f)
}
