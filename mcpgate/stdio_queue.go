// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import "context"

// Send keeps the order of messages: while a child is being started they wait in a queue.
func (l *stdioLink) Send(ctx context.Context, x *Exchange) {
	l.mu.Lock()
	c, closed := l.child, l.closed
	ready := c != nil && !c.isDead() && !l.queueing
	if closed || !ready && !l.queueing && !x.Message.IsRequest() {
		l.mu.Unlock()
		if closed {
			x.end(Reply{Delivery: Unsent, Err: ErrUpstreamClosed})
		}
		return // a new process knows nothing of what a notification or a reply is about
	}
	l.work.Add(1)
	if ready {
		l.mu.Unlock()
		l.send(ctx, c, x)
		l.work.Done()
		return
	}
	l.queue = append(l.queue, queued{ctx, x})
	start := !l.queueing
	l.queueing = true
	l.mu.Unlock()
	if start {
		l.work.Add(1)
		go l.drain()
	}
}

// queued is a message that waits for a child.
type queued struct {
	ctx context.Context
	x   *Exchange
}

// drain sends what waits, in order.
func (l *stdioLink) drain() {
	defer l.work.Done()
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.queueing = false
			l.mu.Unlock()
			return
		}
		q := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		c, err := l.ensure(q.ctx, q.x.Message.Method != "initialize")
		if err != nil {
			q.x.end(Reply{Delivery: Unsent, Err: err})
		} else {
			l.send(q.ctx, c, q.x)
		}
		l.work.Done()
	}
}
