// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"os"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
)

func imported(t *testing.T) (string, []string) {
	t.Helper()
	file, err := os.Open("testdata/petstore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	description, notes, err := connector.ImportOpenAPI(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(description), notes
}

func TestImportingAnOpenAPIDocument(t *testing.T) {
	description, notes := imported(t)
	golden(t, "petstore.golden", description+"=== notes\n"+strings.Join(notes, "\n")+"\n")
}

func TestWhatWasImportedWorks(t *testing.T) {
	description, _ := imported(t)
	server := record(t, answers(201, `{"data":{"id":7,"url":"https://pets.example/7"}}`))
	_, rest, _ := strings.Cut(description, "headers:")
	api := load(t, server.URL, "headers: "+strings.ReplaceAll(rest, "${API_KEY}", "${TOKEN}"))
	out := api.Call(t.Context(), "createPet", grant("3f1b0c9e-5a3d-4c57-9f0e-0123456789ab"), []byte(`{"name":"Rex","tag":"dog"}`))
	got := server.requests()[0]
	if got.Line != "POST /pets" || got.Body != `{"name":"Rex","tag":"dog"}` || got.Header.Get("X-Pet-Key") != "s3cret" || got.Header.Get("Idempotency-Key") == "" {
		t.Errorf("%+v", got)
	}
	if out.Kind != deed.OutcomeSuccess || out.Receipt.RemoteID != "7" || out.Receipt.RemoteURL != "https://pets.example/7" {
		t.Errorf("%s: %+v", out.Kind, out.Receipt)
	}
	api.Call(t.Context(), "getPet", grant(""), []byte(`{"petId":7,"fields":["a","b"],"filter[state]":"x"}`))
	if line := server.requests()[1].Line; line != "GET /pets/7?fields=a&fields=b&filter[state]=x" {
		t.Error(line)
	}
	api.Call(t.Context(), "createPet_2", grant(""), []byte(`{"petId":"7","body":["x"]}`))
	if got := server.requests()[2]; got.Line != "POST /pets/7/tags" || got.Body != `["x"]` {
		t.Errorf("%+v", got)
	}
}

func TestDocumentsThatAreNotImported(t *testing.T) {
	for _, c := range []struct{ name, document, want string }{
		{"Swagger 2", `{"swagger":"2.0","paths":{}}`, "this is Swagger 2"},
		{"no OpenAPI", `{"paths":{}}`, "no OpenAPI 3 document"},
		{"no paths", "openapi: 3.1.0\ninfo: {title: x}\n", "no paths"},
		{"no operations", "openapi: 3.1.0\npaths: {/x: {}}\n", "no operation could be imported"},
		{"no YAML", "openapi: [", "is no YAML"},
		{"no JSON", `{"openapi":`, "is no JSON"},
		{"two documents in one", `{"openapi":"3.0.0"} {}`, "there is more after"},
		{"nested without end", `{"openapi":` + strings.Repeat("[", 300), "nested more than"},
		{"nothing", "", "is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := connector.ImportOpenAPI(strings.NewReader(c.document)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
