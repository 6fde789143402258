// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/storetest"
)

// stubborn heeds no context. It begins its answer when begun is set.
type stubborn struct {
	begun          string
	entered, leave chan struct{}
	said           chan error
}

func (h *stubborn) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if h.begun != "" {
		w.Header().Set("Content-Type", h.begun)
		_, _ = io.WriteString(w, "half")
	}
	close(h.entered)
	<-h.leave
	_, err := io.WriteString(w, "the rest")
	h.said <- err
}

func TestCloseEndsWithItsContextWhateverAHandlerDoes(t *testing.T) {
	for name, begun := range map[string]string{"before its answer": "", "amid its answer": "text/plain", "amid a stream": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			h := &stubborn{begun: begun, entered: make(chan struct{}), leave: make(chan struct{}), said: make(chan error, 1)}
			routes, err := httpgate.NewRoutes("pay", anyRoute())
			must(t, err)
			policy := routes.Policy(base(nil))
			rt, err := deed.New(deed.Options{Store: storetest.NewMemory(deed.SystemClock{}), Policy: policy})
			must(t, err)
			gate, err := httpgate.New(httpgate.Options{Routes: routes, Runtime: rt, Policy: policy, Auth: auth, Log: func(string) {}})
			must(t, err)
			caller, left := context.WithCancel(t.Context())
			req := httptest.NewRequest("POST", "/do/it", strings.NewReader(order1)).WithContext(caller)
			req.Header.Set("Idempotency-Key", key)
			served := make(chan struct{})
			go func() {
				defer close(served)
				defer func() { _ = recover() }() // a stream is cut
				gate.Middleware(h).ServeHTTP(httptest.NewRecorder(), req)
			}()
			<-h.entered
			left()
			<-served
			over, end := context.WithCancel(t.Context())
			end()
			if err := gate.Close(over); !errors.Is(err, context.Canceled) {
				t.Errorf("closing says %v", err)
			}
			page, err := rt.List(t.Context(), deed.Principal{Tenant: "acme", Actor: "agent", Rights: []deed.Right{deed.RightRead}}, deed.Query{})
			must(t, err)
			if len(page.Operations) != 1 || page.Operations[0].Status != deed.StatusUncertain {
				t.Errorf("%+v", page.Operations)
			}
			close(h.leave)
			if err := <-h.said; err == nil {
				t.Error("the handler was told that its answer was taken")
			}
			must(t, rt.Close(t.Context()))
		})
	}
}
