// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load reads a description for the server at base, which is on this machine.
func load(t *testing.T, base, description string) *connector.Connector {
	t.Helper()
	source := "base_url: " + base + "\nallow_private: true\n" + description
	c, err := connector.Load([]byte(source), "api.yaml", 1, environment)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func environment(name string) (string, bool) {
	value, ok := map[string]string{"TOKEN": "s3cret", "CRLF": "a\r\nb"}[name]
	return value, ok
}

// grant permits one attempt outside of any ledger.
func grant(key string) *deed.Grant {
	return &deed.Grant{Unrecorded: true, ProviderKey: key, Marks: deed.Marks{ProviderKey: key}, Rule: deed.DefaultRule("api/tool")}
}

// seen is a request as a server got it.
type seen struct {
	Line, Body string
	Header     http.Header
}

// recorder answers every request with what reply says and keeps it.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	list []seen
}

func record(t *testing.T, reply func(w http.ResponseWriter, r *http.Request)) *recorder {
	t.Helper()
	rec := &recorder{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rec.mu.Lock()
		rec.list = append(rec.list, seen{r.Method + " " + r.RequestURI, string(body), r.Header})
		rec.mu.Unlock()
		if reply != nil {
			reply(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"id":"1"}`)
	}))
	t.Cleanup(rec.Close)
	return rec
}

func (r *recorder) requests() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen{}, r.list...)
}

// answers is a reply with a status, headers as "Name: value" and a body.
func answers(status int, body string, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
			w.Header().Set("Content-Type", "application/json")
		}
		for _, line := range headers {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
