// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"net/http"

	"github.com/deed-run/deed"
)

// attempting reports whether a guarded attempt is under way; the client's answers may then be part of an effect.
func (s *Session) attempting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live) > 0
}

// attempts lists the grants of the attempts under way.
func (s *Session) attempts() []*deed.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*deed.Grant, 0, len(s.live))
	for grant := range s.live {
		list = append(list, grant)
	}
	return list
}

func (s *Session) attempt(grant *deed.Grant, live bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !live {
		delete(s.live, grant)
		return
	}
	if s.live == nil {
		s.live = map[*deed.Grant]bool{}
	}
	s.live[grant] = true
}

// respond passes the client's answer to an elicitation or sampling request on, once the guard agrees.
func (s *Session) respond(ctx context.Context, m Message, h http.Header, out Outlet) {
	s.mu.Lock()
	ending := s.ending
	if !ending {
		s.work.Add(1)
	}
	s.mu.Unlock()
	if ending {
		return
	}
	go func() {
		defer s.work.Done()
		detached := context.WithoutCancel(ctx)
		if s.guard.Respond(detached, s) {
			s.forward(detached, m, h, out, nil)
		}
	}()
}
