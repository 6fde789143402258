// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// streaming is an upstream whose answer is written part by part, as the test says.
type streaming struct {
	server  *httptest.Server
	parts   chan string
	kind    string
	length  string
	effects atomic.Int64
}

func newStreaming(t *testing.T, kind string) *streaming {
	t.Helper()
	s := &streaming{parts: make(chan string), kind: kind}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.effects.Add(1)
		w.Header().Set("Content-Type", s.kind)
		if s.length != "" {
			w.Header().Set("Content-Length", s.length)
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		for part := range s.parts {
			if part == "break" {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(s.server.Close)
	return s
}

// settling is a Runtime that shows when it settles and can be held from it.
type settling struct {
	httpgate.Runtime
	hold    chan struct{}
	settled chan deed.Answer
	broken  atomic.Bool
}

func (s *settling) Settle(ctx context.Context, g *deed.Grant, out deed.Outcome) (deed.Answer, error) {
	<-s.hold
	if s.broken.Load() {
		return deed.Answer{}, errors.New("the disk is full")
	}
	answer, err := s.Runtime.Settle(ctx, g, out)
	s.settled <- answer
	return answer, err
}

func hook() *settling {
	return &settling{hold: make(chan struct{}), settled: make(chan deed.Answer, 9)}
}

func (s *settling) in(o *httpgate.Options) { s.Runtime, o.Runtime = o.Runtime, s }

func TestTheLastByteOfAStreamWaitsForTheReceipt(t *testing.T) {
	up, ledger := newStreaming(t, "text/event-stream"), hook()
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: up.server.URL}, edit: ledger.in})
	resp, err := r.post("/do/it", order1, key)
	must(t, err)
	in := bufio.NewReader(resp.Body)
	up.parts <- "data: 1\n\n"
	up.parts <- "data: 2\n\n"
	expectLine(t, in, "data: 1")
	close(up.parts)
	select {
	case <-ledger.settled:
		t.Fatal("it was settled before it was let")
	default:
	}
	expectLine(t, in, "data: 2")
	if n := in.Buffered(); n != 0 {
		t.Errorf("%d bytes more than all but the last came before the receipt", n)
	}
	close(ledger.hold)
	if answer := <-ledger.settled; answer.Effective != deed.StatusCommitted {
		t.Errorf("%s", answer.Effective)
	}
	rest, err := io.ReadAll(in)
	if err != nil || string(rest) != "\n" {
		t.Errorf("%q, %v", rest, err)
	}
	_ = resp.Body.Close()
	again := r.send("POST", "/do/it", order1, "Idempotency-Key", key)
	again.wants(t, 200, "Idempotent-Replayed", "true", "Content-Type", "text/event-stream")
	if again.body != "data: 1\n\ndata: 2\n\n" || up.effects.Load() != 1 {
		t.Errorf("%q after %d effects", again.body, up.effects.Load())
	}
}

func TestAStreamWhoseReceiptCannotBeStoredIsCut(t *testing.T) {
	up, ledger := newStreaming(t, "text/event-stream"), hook()
	ledger.broken.Store(true)
	close(ledger.hold)
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: up.server.URL}, edit: ledger.in})
	resp, err := r.post("/do/it", order1, key)
	must(t, err)
	up.parts <- "data: 1\n\n"
	close(up.parts)
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil || strings.HasSuffix(string(body), "\n\n") {
		t.Errorf("the caller took %q for whole", body)
	}
}

func TestAStreamThatBreaksOffIsUncertainAndCut(t *testing.T) {
	up := newStreaming(t, "text/event-stream")
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: up.server.URL}})
	resp, err := r.post("/do/it", order1, key)
	must(t, err)
	up.parts <- "data: 1\n\n"
	up.parts <- "break"
	_, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		t.Error("the caller took the stream for whole")
	}
	r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 409, "Deed-Reason", "outcome_unknown")
	if up.effects.Load() != 1 {
		t.Errorf("%d effects", up.effects.Load())
	}
}

func TestACallerThatLeavesAStreamDoesNotEndIt(t *testing.T) {
	up, ledger := newStreaming(t, "text/event-stream"), hook()
	close(ledger.hold)
	r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: up.server.URL}, edit: ledger.in})
	resp, err := r.post("/do/it", order1, key)
	must(t, err)
	up.parts <- "data: 1\n\n"
	_ = resp.Body.Close()
	for range 100 {
		up.parts <- "data: more\n\n"
	}
	close(up.parts)
	if answer := <-ledger.settled; answer.Effective != deed.StatusCommitted {
		t.Errorf("%s", answer.Effective)
	}
	r.send("POST", "/do/it", order1, "Idempotency-Key", key).wants(t, 200, "Idempotent-Replayed", "true")
}

func TestOfALongAnswerTheDigestAndTheReceiptAreKept(t *testing.T) {
	part := strings.Repeat("0123456789abcdef", 1<<14) // 256 KiB
	for _, announced := range []bool{true, false} {
		t.Run(fmt.Sprintf("announced=%v", announced), func(t *testing.T) {
			up := newStreaming(t, "application/octet-stream")
			if announced {
				up.length = fmt.Sprint(5 * len(part))
			}
			r := build(t, setup{routes: anyRoute(), upstream: httpgate.Upstream{URL: up.server.URL}})
			go func() {
				for range 5 {
					up.parts <- part
				}
				close(up.parts)
			}()
			first := r.send("POST", "/do/it", order1, "Idempotency-Key", key)
			first.wants(t, 200)
			if first.body != strings.Repeat(part, 5) {
				t.Errorf("%d bytes came", len(first.body))
			}
			again := r.send("POST", "/do/it", order1, "Idempotency-Key", key)
			again.wants(t, 200, "Deed-Reason", "result_discarded", "Idempotent-Replayed", "true")
			sum := sha256.Sum256([]byte(first.body))
			if again.member(t, "receipt", "result_digest") != "sha256:"+hex.EncodeToString(sum[:]) || again.member(t, "replayed") != true {
				t.Error(again.body)
			}
			if up.effects.Load() != 1 {
				t.Errorf("%d effects", up.effects.Load())
			}
		})
	}
}

// post begins a request whose answer the test reads itself.
func (r *rig) post(path, body, key string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, r.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	return r.client.Do(req)
}

func expectLine(t *testing.T, in *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		must(t, err)
		if line = strings.TrimSpace(line); line != "" {
			if line != want {
				t.Fatalf("%q came, want %q", line, want)
			}
			return
		}
	}
}
