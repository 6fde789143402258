// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"net/http"

	"github.com/deed-run/deed"
)

// get serves the stream of messages that the server sends by itself.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, name string, who deed.Principal) {
	id := r.Header.Get(headerSession)
	if id == "" {
		w.Header().Set("Allow", "POST")
		http.Error(w, "a stream needs a session", http.StatusMethodNotAllowed)
		return
	}
	s, ok := h.sessions.find(id, name, who, h.Clock.Now())
	if !ok {
		notFound(w, Message{})
		return
	}
	out := newHTTPOutlet(w, r, false)
	if source, ok := s.Link.(interface {
		Stream(context.Context, http.Header, func(int, http.Header), func(Event)) error
	}); ok {
		err := source.Stream(r.Context(), r.Header, out.Head, watch(h.Guard, name, out.Event))
		if !out.streaming() && err != nil {
			out.finish(http.StatusBadGateway)
		}
		out.abandon()
		return
	}
	if !s.listen(out) {
		http.Error(w, "the session has a stream already", http.StatusConflict)
		return
	}
	select {
	case <-r.Context().Done():
	case <-s.ended:
	}
	s.unlisten(out)
	out.abandon()
}

func (h *Handler) delete(w http.ResponseWriter, r *http.Request, name string, who deed.Principal) {
	s, ok := h.sessions.find(r.Header.Get(headerSession), name, who, h.Clock.Now())
	if !ok {
		notFound(w, Message{})
		return
	}
	h.end(s)
	w.WriteHeader(http.StatusOK)
}

// end takes a session out and lets its calls in flight go on.
func (h *Handler) end(s *httpSession) {
	if !h.sessions.remove(s) {
		return
	}
	h.sessions.closing.Add(1)
	go func() {
		defer h.sessions.closing.Done()
		ctx, cancel := context.WithTimeout(h.sessions.ctx, h.Drain)
		defer cancel()
		_ = s.Close(ctx)
	}()
}

func (h *Handler) sweep() {
	for _, s := range h.sessions.idle(h.Clock.Now().Add(-h.SessionIdle)) {
		h.end(s)
	}
}

// Close ends all sessions. Calls in flight may finish until ctx ends.
func (h *Handler) Close(ctx context.Context) error {
	for _, s := range h.sessions.all() {
		h.end(s)
	}
	idle := make(chan struct{})
	go func() { h.sessions.closing.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
		h.sessions.stop()
		<-idle
	}
	h.sessions.stop()
	return nil
}
