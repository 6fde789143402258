// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// httpOutlet is one HTTP response: JSON when the reply comes first, a stream of events when something comes before it or the upstream
// answered with one.
type httpOutlet struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	modern bool
	sse    bool // the client accepts a stream
	done   chan struct{}

	mu        sync.Mutex
	upstream  int    // the upstream's status, 0 before it is known
	kind      string // its content type
	sent      int    // the status sent, 0 before
	inStream  bool
	ended     bool
	wasFailed bool
}

func newHTTPOutlet(w http.ResponseWriter, r *http.Request, modern bool) *httpOutlet {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return &httpOutlet{
		w: w, rc: http.NewResponseController(w), modern: modern, done: make(chan struct{}),
		sse: accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*"),
	}
}

var errClientGone = errors.New("the client has left")

func (o *httpOutlet) Head(status int, h http.Header) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || o.inStream {
		return
	}
	o.upstream, o.kind = status, h.Get("Content-Type")
	for _, name := range []string{"Retry-After", "Allow"} {
		if value := h.Get(name); value != "" {
			o.w.Header().Set(name, value)
		}
	}
	if status == http.StatusOK && strings.HasPrefix(o.kind, "text/event-stream") {
		o.startLocked()
	}
}

// stream starts a stream of events where the client takes one, and writes an event without a message into it.
func (o *httpOutlet) stream(block []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || !o.sse {
		return
	}
	o.startLocked()
	if block != nil {
		_, _ = o.w.Write(block)
		_ = o.rc.Flush()
	}
}

func (o *httpOutlet) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.startLocked()
}

func (o *httpOutlet) startLocked() {
	if o.ended || o.inStream {
		return
	}
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	o.inStream, o.sent = true, http.StatusOK
	o.w.WriteHeader(http.StatusOK)
	_ = o.rc.Flush()
}

func (o *httpOutlet) canStream() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.ended && o.sse
}

func (o *httpOutlet) streaming() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.inStream
}

func (o *httpOutlet) Event(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || !o.sse {
		return
	}
	o.startLocked()
	block := e.Block
	if block == nil {
		block = messageBlock(e.Message)
	}
	_, _ = o.w.Write(block)
	_ = o.rc.Flush()
}

func (o *httpOutlet) End(r Reply) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return errClientGone
	}
	defer o.close()
	o.wasFailed = r.Message.Result == nil
	var err error
	switch {
	case o.inStream && (r.Resumable || r.Message.Raw == nil):
		return nil
	case o.inStream:
		block := r.Block
		if block == nil {
			block = messageBlock(r.Message)
		}
		if _, err = o.w.Write(block); err == nil {
			err = o.rc.Flush()
		}
		return err
	case r.Message.Raw == nil && r.Body == nil:
		o.sent = max(r.Status, http.StatusAccepted)
		o.w.WriteHeader(o.sent)
		return nil
	case r.Message.Raw == nil:
		o.w.Header().Set("Content-Type", o.kind)
		o.sent = r.Status
		o.w.WriteHeader(o.sent)
		_, err = o.w.Write(r.Body)
		return err
	}
	o.sent = o.statusOf(r)
	o.w.Header().Set("Content-Type", "application/json")
	o.w.WriteHeader(o.sent)
	if _, err = o.w.Write(r.Message.Raw); err == nil {
		err = o.rc.Flush()
	}
	return err
}

// statusOf is the upstream's own status, or what MCP 2026-07-28 wants for an error that the gateway or a stdio upstream gave.
func (o *httpOutlet) statusOf(r Reply) int {
	if r.Status != 0 {
		return r.Status
	}
	code, _ := rawjson.Get(r.Message.Error, "code")
	if !o.modern {
		return http.StatusOK
	}
	switch string(code) {
	case "-32601":
		return http.StatusNotFound
	case "-32020", "-32021", "-32022", "-32600", "-32602":
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// finish answers a notification, unless the upstream's answer was passed on.
func (o *httpOutlet) finish(status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	if !o.inStream {
		o.sent = status
		o.w.WriteHeader(status)
	}
	o.close()
}

// abandon makes every later write nothing: the handler returns. It reports whether the answer is not whole.
func (o *httpOutlet) abandon() (unfinished bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	o.close()
	return true
}

func (o *httpOutlet) close() {
	o.ended = true
	close(o.done)
}

func (o *httpOutlet) status() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}

func (o *httpOutlet) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wasFailed
}
