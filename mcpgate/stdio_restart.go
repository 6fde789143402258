// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// readyWait bounds how long a new or silent upstream may take to answer before something is sent to it.
const readyWait = 30 * time.Second

// ensure returns a live child, starting one when there is none. A child that follows a dead one of the same session is initialised with
// the client's own words first. Nothing that an earlier child was sent is sent again.
func (l *stdioLink) ensure(ctx context.Context, reopen bool) (*child, error) {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	old, initialize, initialized := l.child, l.initialize, l.initialized
	l.mu.Unlock()
	if old != nil {
		if !old.isDead() {
			return old, nil
		}
		<-old.dead
		l.command.Log(fmt.Sprintf("upstream %s: %v; it is started again for the next request", l.command.Name, old.err))
	}
	c, err := l.command.start(l.receive)
	if err != nil {
		l.mu.Lock()
		l.broken = err
		l.mu.Unlock()
		return nil, err
	}
	l.mu.Lock()
	l.child, l.restarted, l.heard = c, old != nil, l.command.Now()
	closed := l.closed
	l.mu.Unlock()
	l.work.Add(1)
	go l.bury(c)
	if closed {
		c.stop()
		return nil, ErrUpstreamClosed
	}
	if !reopen || initialize.Raw == nil {
		return c, nil
	}
	// One that never answered was not up before.
	which := "the upstream"
	if initialized.Raw != nil {
		which = "the restarted upstream"
	}
	if _, err := l.own(ctx, c, "initialize", initialize.Params); err != nil {
		return nil, fmt.Errorf("initialise %s %q: %w; nothing of the request was sent", which, l.command.Name, err)
	}
	if initialized.Raw != nil {
		if _, err := c.lines.write(initialized.Raw, nil); err != nil {
			return nil, fmt.Errorf("initialise %s %q: %w; nothing of the request was sent", which, l.command.Name, err)
		}
	}
	l.mu.Lock()
	l.initialize, l.initialized = initialize, initialized
	l.mu.Unlock()
	return c, nil
}

// bury ends what waited for a child once it is dead.
func (l *stdioLink) bury(c *child) {
	defer l.work.Done()
	<-c.dead
	l.mu.Lock()
	if !l.closed {
		l.broken = c.err
	}
	lost := map[string]*waiting{}
	for key, w := range l.pending {
		if w.child == c {
			lost[key] = w
		}
	}
	l.mu.Unlock()
	for key, w := range lost {
		l.settle(key, w, Reply{Delivery: Sent, Err: c.err})
	}
}

// own sends a request of the gateway's own to this child and waits for the answer, whichever it is.
func (l *stdioLink) own(ctx context.Context, c *child, method string, params []byte) (Message, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	done := make(chan Reply, 1)
	x := &Exchange{Done: func(r Reply) { done <- r }}
	id := l.ownID()
	x.Message = RequestMessage(id, method, params)
	l.sendOwn(ctx, c, x)
	r := <-done
	if r.Delivery != Answered {
		return Message{}, r.Err
	}
	if r.Message.Error != nil && method == "initialize" {
		return r.Message, errors.New("it answered with an error: " + string(r.Message.Error))
	}
	return r.Message, nil
}

// sendOwn is send for requests that already carry an id of ours.
func (l *stdioLink) sendOwn(ctx context.Context, c *child, x *Exchange) {
	w := &waiting{x: x, child: c}
	key := x.Message.Key()
	l.mu.Lock()
	l.pending[key] = w
	l.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { l.settle(key, w, Reply{Delivery: Sent, Err: context.Cause(ctx)}) })
	l.mu.Lock()
	w.stop = stop
	l.mu.Unlock()
	l.put(c, x, x.Message, w)
}

// Ready starts a dead child, and pings one that has been silent for long or was just restarted.
func (l *stdioLink) Ready(ctx context.Context) error {
	l.mu.Lock()
	c, closed := l.child, l.closed
	quiet := l.command.Now().Sub(l.heard) >= l.command.IdlePing
	if !closed {
		l.work.Add(1)
		defer l.work.Done()
	}
	l.mu.Unlock()
	if closed {
		return ErrUpstreamClosed
	}
	if c == nil || c.isDead() {
		var err error
		if c, err = l.ensure(ctx, true); err != nil {
			return err
		}
		quiet = true
	}
	if !quiet {
		return nil
	}
	if _, err := l.own(ctx, c, "ping", nil); err != nil {
		return fmt.Errorf("ping upstream %q: %w; nothing of the request was sent", l.command.Name, err)
	}
	return nil
}
