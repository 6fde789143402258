// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// hop is a server that does what a test wants with the requests it gets, and
// counts those that change things.
func hop(t *testing.T, handle http.HandlerFunc) (*api.Client, *atomic.Int64) {
	t.Helper()
	var posts atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		posts.Add(1)
		handle(w, r)
	}))
	t.Cleanup(web.Close)
	client, err := api.New(api.Options{BaseURL: web.URL, HTTP: web.Client(), MaxAnswer: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	return client, &posts
}

func TestACallIsSentOnceWhateverBreaks(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"the connection is closed in place of an answer": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		},
		"the answer is cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"decision":`)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/v1/elsewhere", http.StatusTemporaryRedirect)
		},
		"a see-other": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v1/stats", http.StatusSeeOther) },
		"a gateway's own 502": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>bad gateway</html>")
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome</html>") },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
		},
		"a problem that is none": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			_, _ = io.WriteString(w, "no")
		},
		"an endless answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `"`+strings.Repeat("x", 1<<17)+`"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, posts := hop(t, handle)
			if _, err := client.Stats(context.Background()); err != nil {
				t.Fatalf("no connection to be used again: %v", err)
			}
			_, err := client.Call(context.Background(), tool, firstKey, api.CallRequest{Arguments: json.RawMessage(`{}`)})
			if !errors.Is(err, api.ErrNoAnswer) {
				t.Errorf("%v", err)
			}
			if n := posts.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

func TestACallerThatLeavesSendsNothingMore(t *testing.T) {
	arrived := make(chan struct{})
	client, posts := hop(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	_, err := client.Claim(ctx, api.ClaimRequest{Key: firstKey, Tool: tool, Arguments: json.RawMessage(`{}`)})
	if !errors.Is(err, api.ErrNoAnswer) || !errors.Is(err, context.Canceled) || posts.Load() != 1 {
		t.Errorf("%v, sent %d times", err, posts.Load())
	}
}

func TestProblemsAreErrorsOfTheirKind(t *testing.T) {
	kinds := []error{api.ErrConflict, api.ErrInProgress, api.ErrUncertain, api.ErrFailed, api.ErrDenied, api.ErrExpired, api.ErrNotFound, api.ErrRefused, api.ErrStale}
	verdict := func(d deed.Decision) api.Problem { return api.Problem{Verdict: api.Verdict{Decision: d}} }
	attempt := func(s deed.Status) api.Problem {
		p := verdict(deed.Execute)
		p.OperationStatus = s
		return p
	}
	kind := func(word string) api.Problem { return api.Problem{Status: 409, Type: api.ProblemPage + "#" + word} }
	for _, c := range []struct {
		problem api.Problem
		want    error
	}{
		{verdict(deed.Conflict), api.ErrConflict},
		{verdict(deed.InProgress), api.ErrInProgress},
		{verdict(deed.Uncertain), api.ErrUncertain},
		{verdict(deed.Failed), api.ErrFailed},
		{verdict(deed.Denied), api.ErrDenied},
		{verdict(deed.Expired), api.ErrExpired},
		{attempt(deed.StatusUncertain), api.ErrUncertain},
		{attempt(deed.StatusFailed), api.ErrFailed},
		{attempt(deed.StatusExecuting), api.ErrInProgress},
		{api.Problem{Status: 404}, api.ErrNotFound},
		{kind(api.TypeRefused), api.ErrRefused},
		{kind(api.TypeOutcomeDiffers), api.ErrRefused},
		{kind(api.TypeStaleAttempt), api.ErrStale},
		{kind(api.TypeLeaseLost), api.ErrStale},
		{api.Problem{Status: 500}, nil},
	} {
		err := &api.ProblemError{Problem: c.problem}
		for _, k := range kinds {
			if errors.Is(err, k) != errors.Is(c.want, k) {
				t.Errorf("%+v is %v: %v", c.problem, k, errors.Is(err, k))
			}
		}
		if err.Error() == "" {
			t.Error("it says nothing")
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:7391", "ftp://example", "/v1", "http://"} {
		if _, err := api.New(api.Options{BaseURL: address}); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
}
