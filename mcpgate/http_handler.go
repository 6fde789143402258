// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/deed-run/deed"
)

// HTTPOptions configure a Handler. Upstreams is required.
type HTTPOptions struct {
	// Upstreams are served under their names: /mcp/{upstream}.
	Upstreams map[string]Upstream
	// Guard is nil for a transparent proxy.
	Guard Guard
	// Principal authenticates a request; an error is answered with 401. Without it every request is Local's.
	Principal func(*http.Request) (deed.Principal, error)
	Local     deed.Principal
	// MaxBody is the longest request body in bytes, by default 16 MiB.
	MaxBody int64
	// ReadWithin bounds how long a request's body may take to arrive, by default 30 s.
	ReadWithin time.Duration
	// SessionIdle ends a session of the session eras that nothing was heard of, by default 1 h; MaxSessions bounds their number, by
	// default 1000.
	SessionIdle time.Duration
	MaxSessions int
	// Drain is how long calls in flight of a deleted session may go on, by default 10 min: their effects are not cancelled.
	Drain time.Duration
	// Hosts are further names that this server is reached by, beside localhost and what the request's Host says on other addresses.
	Hosts []string
	// Clock is the system's by default.
	Clock deed.Clock
}

// Handler serves MCP over Streamable HTTP, both eras on one path: requests of 2026-07-28 are told by their version and need no session;
// everything else is paired, one upstream session for each client session. Close it to end the sessions.
type Handler struct {
	HTTPOptions
	sessions *sessions
}

// NewHandler returns a Handler for the upstreams.
func NewHandler(o HTTPOptions) (*Handler, error) {
	if len(o.Upstreams) == 0 {
		return nil, errors.New("mcpgate: HTTPOptions needs at least one upstream: nothing could be served")
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 16 << 20
	}
	if o.ReadWithin <= 0 {
		o.ReadWithin = 30 * time.Second
	}
	if o.SessionIdle <= 0 {
		o.SessionIdle = time.Hour
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 1000
	}
	if o.Drain <= 0 {
		o.Drain = 10 * time.Minute
	}
	if o.Clock == nil {
		o.Clock = deed.SystemClock{}
	}
	return &Handler{HTTPOptions: o, sessions: newSessions()}, nil
}

// ServeHTTP answers one request for /mcp/{upstream}; the last segment of the path names the upstream.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if problem := h.foreign(r); problem != "" {
		http.Error(w, problem, http.StatusForbidden)
		return
	}
	name := r.PathValue("upstream")
	if name == "" {
		name = path.Base(r.URL.Path)
	}
	upstream, ok := h.Upstreams[name]
	if !ok {
		http.Error(w, "no such upstream; the path is /mcp/{upstream}", http.StatusNotFound)
		return
	}
	who := h.Local
	if h.HTTPOptions.Principal != nil {
		var err error
		if who, err = h.HTTPOptions.Principal(r); err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "not authenticated; nothing was sent", http.StatusUnauthorized)
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r, name, upstream, who)
	case http.MethodGet:
		h.get(w, r, name, who)
	case http.MethodDelete:
		h.delete(w, r, name, who)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

func (h *Handler) post(w http.ResponseWriter, r *http.Request, name string, upstream Upstream, who deed.Principal) {
	m, ok := h.message(w, r)
	if !ok {
		return
	}
	modern := modernVersion(m, r.Header) != ""
	out := newHTTPOutlet(w, r, modern)
	_, remote := upstream.(*Remote)
	if problem := headerMismatch(m, r.Header, nil); modern && !remote && problem != "" && m.IsRequest() {
		_ = out.End(Reply{Message: ErrorMessage(m.ID, codeHeaderMismatch, problem+"; nothing was sent")})
		return
	}
	id := r.Header.Get(headerSession)
	var s *httpSession
	switch {
	case modern || id == "" && m.Method != "initialize":
		s = h.sessions.shared(name, who, upstream, h.Guard)
	case m.Method == "initialize":
		h.sweep()
		if s, ok = h.sessions.open(name, who, upstream, h.Guard, h.Clock.Now(), h.MaxSessions); !ok {
			w.Header().Set("Retry-After", "60")
			http.Error(w, "too many sessions; nothing was sent", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set(headerSession, s.ID)
	default:
		if s, ok = h.sessions.find(id, name, who, h.Clock.Now()); !ok {
			notFound(w, m)
			return
		}
	}
	s.enter(out)
	s.Handle(r.Context(), m, r.Header, out)
	if !m.IsRequest() {
		out.finish(http.StatusAccepted)
	}
	var unanswered bool
	select {
	case <-out.done:
	case <-r.Context().Done():
		unanswered = out.abandon()
	}
	s.leave(out)
	lost := m.Method == "initialize" && out.failed() || remote && out.status() == http.StatusNotFound
	if lost && s.ID != "" {
		h.end(s)
	}
	if unanswered { // who asked may still listen, and would take what is there for a whole answer
		panic(http.ErrAbortHandler)
	}
}

// message reads the body, or answers why it cannot.
func (h *Handler) message(w http.ResponseWriter, r *http.Request) (Message, bool) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return Message{}, false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.ReadWithin))
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.MaxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		writeMessage(w, http.StatusRequestEntityTooLarge, ErrorMessage(nil, codeInvalidRequest, fmt.Sprintf("the body is longer than %d bytes; nothing was done", h.MaxBody)))
		return Message{}, false
	case err != nil:
		// net/http reads what is left of a body before it answers: the deadline stays, and the connection ends.
		w.Header().Set("Connection", "close")
		http.Error(w, "the body was cut, or took too long; nothing was done", http.StatusBadRequest)
		return Message{}, false
	}
	_ = control.SetReadDeadline(time.Time{})
	m, err := ParseMessage(raw)
	if err != nil {
		code := codeInvalidRequest
		if m.ID == nil {
			code = codeParse
		}
		writeMessage(w, http.StatusBadRequest, ErrorMessage(m.ID, code, err.Error()+"; nothing was done"))
		return Message{}, false
	}
	return m, true
}

func notFound(w http.ResponseWriter, m Message) {
	writeMessage(w, http.StatusNotFound, ErrorMessage(m.ID, -32001, "no such session; initialize a new one. Nothing was sent"))
}

func writeMessage(w http.ResponseWriter, status int, m Message) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(m.Raw)
}
