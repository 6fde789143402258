// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// A status that says all there is to know is settled when it is read, whatever the
// body of an error does. A switch of protocols that nobody asked for is no final
// answer, and has no body either.
func TestAnErrorWhoseBodyNeverEndsIsSettledByItsStatus(t *testing.T) {
	for name, head := range map[string]string{
		"an error that drips":      "HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n-\r\n",
		"a redirect that drips":    "HTTP/1.1 302 Found\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n-\r\n",
		"an error of one kilobyte": "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1000\r\n\r\n-",
		"another protocol":         "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			leave := make(chan struct{})
			var effects atomic.Int64
			upstream := httptest.NewServer(dripping(t, head, &effects, leave))
			defer upstream.Close()
			r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: upstream.URL}})
			defer close(leave)
			for range 2 {
				r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 409, "Deed-Status", "uncertain")
			}
			if n := effects.Load(); n != 1 {
				t.Errorf("%d effects", n)
			}
		})
	}
}

// A refusal is the caller's own to read, but not for ever.
func TestARefusalWhoseBodyNeverEndsIsCut(t *testing.T) {
	leave := make(chan struct{})
	var effects atomic.Int64
	upstream := httptest.NewServer(dripping(t, "HTTP/1.1 422 Unprocessable Entity\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n-\r\n", &effects, leave))
	defer upstream.Close()
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: upstream.URL}, edit: func(o *httpgate.Options) { o.ReadWithin = 50 * time.Millisecond }})
	defer close(leave)
	r.send("POST", "/do/it", "", "Idempotency-Key", key).wants(t, 409, "Deed-Status", "uncertain")
}

// A handler that has answered with an error goes on in peace: what it does still may
// be the effect.
func TestAHandlerIsNotEndedByTheErrorItAnswered(t *testing.T) {
	leave, ended := make(chan struct{}), make(chan error, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		<-leave
		ended <- r.Context().Err()
	})
	r := build(t, setup{routes: anyRoute(), handler: handler, edit: func(o *httpgate.Options) { o.ReadWithin = time.Millisecond }})
	r.send("POST", "/do/it", "", "Idempotency-Key", key).wants(t, 409, "Deed-Status", "uncertain")
	close(leave)
	if err := <-ended; err != nil {
		t.Errorf("its context ended before it did: %v", err)
	}
	if n := r.operations(); n != 1 {
		t.Errorf("%d operations", n)
	}
	page, err := r.runtime.List(t.Context(), deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightRead}}, deed.Query{})
	must(t, err)
	if got := page.Operations[0].Status; got != deed.StatusUncertain {
		t.Errorf("the operation is %s", got)
	}
}

// dripping answers with bytes of its own, and leaves the connection open.
func dripping(t *testing.T, head string, effects *atomic.Int64, leave chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		effects.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, head)
		<-leave
	})
}
