// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deed-run/deed/internal/server"
)

var update = flag.Bool("update", false, "write the golden files")

func document(t *testing.T, s *server.Server) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

func TestTheDocumentIsTheCommittedOne(t *testing.T) {
	got := document(t, newRig(t, nil).server)
	golden := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the API has changed; run with -update and read the difference:\n%s", diff)
	}
}

// contract checks answers against the OpenAPI document.
type contract struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
}

func contractOf(t *testing.T, s *server.Server) *contract {
	t.Helper()
	raw := document(t, s)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{doc: doc.(map[string]any), compiler: jsonschema.NewCompiler()}
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// pathOf finds the path template of a request.
func (c *contract) pathOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for template := range c.doc["paths"].(map[string]any) {
		names := strings.Split(template, "/")
		if len(names) != len(parts) {
			continue
		}
		same := true
		for i, name := range names {
			same = same && (name == parts[i] || strings.HasPrefix(name, "{"))
		}
		if same {
			return template
		}
	}
	return ""
}

func pointer(parts ...string) string {
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(part)
	}
	return "openapi.json#/" + strings.Join(parts, "/")
}

// fits checks that the document promises the answer: the code and the shape of
// its body.
func (c *contract) fits(t *testing.T, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	template := c.pathOf(path)
	if template == "" || w.Code == http.StatusMethodNotAllowed {
		return
	}
	operation := c.doc["paths"].(map[string]any)[template].(map[string]any)[strings.ToLower(method)]
	responses := operation.(map[string]any)["responses"].(map[string]any)
	code := fmt.Sprint(w.Code)
	if _, promised := responses[code]; !promised {
		t.Errorf("%s %s answers %s, which the document does not promise: %s", method, template, code, w.Body)
		return
	}
	kind := w.Header().Get("Content-Type")
	schema, err := c.compiler.Compile(pointer("paths", template, strings.ToLower(method), "responses", code, "content", kind, "schema"))
	if err != nil {
		t.Errorf("%s %s %s %s: %v", method, template, code, kind, err)
		return
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Errorf("%v in %s", err, w.Body)
		return
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s %s: the answer is not as documented: %v\n%s", method, template, err, w.Body)
	}
}

func TestEveryRouteOfTheDocumentIsServedAndDescribed(t *testing.T) {
	r := newRig(t, nil)
	c := contractOf(t, r.server)
	names := map[string]bool{}
	for template, item := range c.doc["paths"].(map[string]any) {
		path := strings.NewReplacer("{id}", "op_1", "{upstream}", "pay", "{tool}", "refund").Replace(template)
		for method, operation := range item.(map[string]any) {
			name := operation.(map[string]any)["operationId"].(string)
			if names[name] {
				t.Errorf("two operations are called %s", name)
			}
			names[name] = true
			body := ""
			if method == "post" {
				body = "{}"
			}
			w := r.do(request{method: strings.ToUpper(method), path: path, body: body})
			if w.Code == http.StatusMethodNotAllowed {
				t.Errorf("%s %s is not served", method, path)
			}
			if again := r.do(request{method: http.MethodPut, path: path}); again.Code != http.StatusMethodNotAllowed ||
				!strings.EqualFold(again.Header().Get("Allow"), method) {
				t.Errorf("PUT %s: HTTP %d, Allow %q", path, again.Code, again.Header().Get("Allow"))
			}
		}
	}
	if len(names) != 16 {
		t.Errorf("%d operations: %v", len(names), names)
	}
	for name := range c.doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := c.compiler.Compile(pointer("components", "schemas", name)); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	var parsed struct{ OpenAPI string }
	if err := json.Unmarshal(document(t, r.server), &parsed); err != nil || !strings.HasPrefix(parsed.OpenAPI, "3.1.") {
		t.Errorf("openapi %q, %v", parsed.OpenAPI, err)
	}
}
