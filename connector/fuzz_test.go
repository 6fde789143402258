// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector"
)

func seeds(f *testing.F, paths ...string) {
	f.Helper()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// Whatever stands in a description, it is refused or taken, and a taken one lists its tools.
func FuzzLoad(f *testing.F) {
	seeds(f, "testdata/bad.txt", "catalogue/stripe.yaml", "catalogue/linear.yaml")
	f.Add([]byte("base_url: https://x.example\n" + listing + "{style: one}\n"))
	f.Fuzz(func(t *testing.T, source []byte) {
		c, err := connector.Load(source, "api.yaml", 1, environment)
		if err != nil {
			return
		}
		if list, err := c.Tools(t.Context()); err != nil || len(list) == 0 {
			t.Errorf("the tools are not listed: %v", err)
		}
	})
}

// What is imported can be loaded: ImportOpenAPI says so itself where not.
func FuzzImportOpenAPI(f *testing.F) {
	seeds(f, "testdata/petstore.yaml")
	f.Add([]byte(`{"openapi":"3.1.0","servers":[{"url":"/v1"}],"paths":{"/x/{a}":{"get":{"parameters":[{"in":"path","name":"a"}]}}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		_, _, err := connector.ImportOpenAPI(bytes.NewReader(document))
		if err != nil && bytes.Contains([]byte(err.Error()), []byte("a fault of the import")) {
			t.Error(err)
		}
	})
}

// Whatever the arguments are, one request is built or none, and it stays at its address.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"a":"../x","b":{"c":[1,{"d":null}]},"h":"x"}`))
	f.Add([]byte(`{"a":1e400,"b":"\ud800"}`))
	c, err := connector.Load([]byte("base_url: http://127.0.0.1:1/base\ntools:\n  x: {method: POST, path: \"/p/{a}/q\", query: {b: \"{b}\"}, headers: {H: \"{h}\"}, body: form}\n"), "api.yaml", 1, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		out := c.Call(t.Context(), "x", grant(""), args)
		if out.Kind != deed.OutcomeRefused && out.Kind != deed.OutcomeUnsent {
			t.Errorf("%s: %s", out.Kind, out.Message)
		}
	})
}
