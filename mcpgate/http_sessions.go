// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// sessions are the client sessions of a Handler.
type sessions struct {
	ctx     context.Context
	stop    context.CancelFunc
	closing sync.WaitGroup

	mu      sync.Mutex
	byID    map[string]*httpSession
	byWho   map[sharing]*httpSession
	perName map[string]Link // the shared link of each upstream
}

// sharing is who and where of requests without a session.
type sharing struct {
	upstream string
	tenant   deed.Tenant
	actor    deed.Actor
	rights   string
}

func sharingOf(upstream string, who deed.Principal) sharing {
	return sharing{upstream, who.Tenant, who.Actor, fmt.Sprint(who.Rights)}
}

func newSessions() *sessions {
	s := &sessions{byID: map[string]*httpSession{}, byWho: map[sharing]*httpSession{}, perName: map[string]Link{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// maxQueued bounds the messages kept for a client that has no stream open.
const maxQueued = 256

// httpSession is a session of an HTTP client and its open responses.
type httpSession struct {
	*Session
	ended chan struct{}

	mu     sync.Mutex
	used   time.Time
	open   []*httpOutlet
	stream *httpOutlet
	queue  []Event
}

// open makes a session with an upstream session of its own.
func (l *sessions) open(name string, who deed.Principal, upstream Upstream, guard Guard, now time.Time, limit int) (*httpSession, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byID) >= limit || l.ctx.Err() != nil {
		return nil, false
	}
	s := &httpSession{ended: make(chan struct{}), used: now}
	sink := watch(guard, name, s.unrelated)
	if _, remote := upstream.(*Remote); remote {
		sink = nil // the client opens the upstream's own GET stream
	}
	s.Session = newSession(name, "deed-"+rand.Text(), who, upstream.Open(sink, false), guard)
	l.byID[s.ID] = s
	return s, true
}

// shared returns the session for requests that carry none: one link for each upstream, whoever calls.
func (l *sessions) shared(name string, who deed.Principal, upstream Upstream, guard Guard) *httpSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := sharingOf(name, who)
	if s := l.byWho[at]; s != nil {
		return s
	}
	link := l.perName[name]
	if link == nil {
		link = upstream.Open(nil, true)
		l.perName[name] = link
	}
	s := &httpSession{ended: make(chan struct{})}
	s.Session = newSession(name, "", who, link, guard)
	s.Session.shared = true
	l.byWho[at] = s
	return s
}

// find returns a session of this principal at this upstream; what belongs to others does not exist.
func (l *sessions) find(id, name string, who deed.Principal, now time.Time) (*httpSession, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.byID[id]
	if s == nil || s.Upstream != name || s.Principal.Tenant != who.Tenant || s.Principal.Actor != who.Actor {
		return nil, false
	}
	s.mu.Lock()
	s.used = now
	s.mu.Unlock()
	return s, true
}

func (l *sessions) remove(s *httpSession) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.ID != "" {
		if l.byID[s.ID] != s {
			return false
		}
		delete(l.byID, s.ID)
	} else {
		at := sharingOf(s.Upstream, s.Principal)
		if l.byWho[at] != s {
			return false
		}
		delete(l.byWho, at)
	}
	close(s.ended)
	return true
}

func (l *sessions) all() []*httpSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*httpSession
	for _, s := range l.byID {
		list = append(list, s)
	}
	for _, s := range l.byWho {
		list = append(list, s)
	}
	return list
}

// idle lists sessions without an open response that were not used since the given time.
func (l *sessions) idle(since time.Time) []*httpSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*httpSession
	for _, s := range l.byID {
		s.mu.Lock()
		if s.used.Before(since) && len(s.open) == 0 && s.stream == nil {
			list = append(list, s)
		}
		s.mu.Unlock()
	}
	return list
}

func (s *httpSession) enter(out *httpOutlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, out)
}

func (s *httpSession) leave(out *httpOutlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.open {
		if o == out {
			s.open = append(s.open[:i], s.open[i+1:]...)
			return
		}
	}
}

// unrelated takes what a stdio upstream sends by itself: for the client's stream, else for a response that is open, else it is kept.
func (s *httpSession) unrelated(e Event) {
	s.mu.Lock()
	out := s.stream
	if out == nil {
		for _, o := range s.open {
			if o.canStream() {
				out = o
			}
		}
	}
	if out == nil {
		if len(s.queue) < maxQueued {
			s.queue = append(s.queue, e)
		}
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	out.Event(e)
}

// listen makes out the session's stream and hands it what was kept.
func (s *httpSession) listen(out *httpOutlet) bool {
	s.mu.Lock()
	if s.stream != nil {
		s.mu.Unlock()
		return false
	}
	s.stream = out
	queue := s.queue
	s.queue = nil
	s.mu.Unlock()
	out.start()
	for _, e := range queue {
		out.Event(e)
	}
	return true
}

func (s *httpSession) unlisten(out *httpOutlet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == out {
		s.stream = nil
	}
}
