// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// M%FCller and M%F6ller are two people in Latin-1, and would be one in a record.
func TestLettersThatAreNotUTF8AreRefusedWhereverTheyStand(t *testing.T) {
	var effects atomic.Int64
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { effects.Add(1) })
	r := build(t, setup{handler: handler, routes: []httpgate.Route{
		{Method: "POST", Pattern: "/pay/*", Headers: []string{"Payee"}},
		{Method: "POST", Pattern: "/derived/*", Key: deed.KeyRule{From: []string{"/path/1"}}},
		{Method: "POST", Pattern: "/fact", Key: deed.KeyRule{From: []string{"meta.run"}}},
		{Method: "POST", Pattern: "/keyless/*", Key: deed.KeyRule{Need: deed.NeedOptional}, Twins: time.Minute},
		{Method: "POST", Pattern: "/tool/{to}", As: "bank/pay", Query: []string{"why"}},
	}})
	const form = "application/x-www-form-urlencoded"
	keyed := []string{"Idempotency-Key", key}
	for name, c := range map[string]struct {
		path, body string
		header     []string
		names      string
	}{
		"in the path":                     {"/pay/M%FCller", order1, keyed, "the path"},
		"in a path that no route names":   {"/other/M%FCller", order1, keyed, "the path"},
		"in the query":                    {"/pay/x?to=M%FCller", order1, keyed, "the query"},
		"in a name of the query":          {"/pay/x?M%FCller=1", order1, keyed, "the query"},
		"in a form":                       {"/pay/x", "to=M%FCller", append([]string{"Content-Type", form}, keyed...), "the form"},
		"in a form that is not encoded":   {"/pay/x", "to=M\xfcller", append([]string{"Content-Type", form}, keyed...), "the form"},
		"in a header":                     {"/pay/x", order1, append([]string{"Payee", "M\xfcller"}, keyed...), "the headers"},
		"in a fact":                       {"/pay/x", order1, append([]string{"Deed-Meta-Run", "M\xfcller"}, keyed...), "Deed-Meta-Run"},
		"in JSON":                         {"/pay/x", "{\"to\":\"M\xfcller\"}", keyed, "the body"},
		"in a key derived from the path":  {"/derived/M%FCller", order1, nil, "the path"},
		"in a key derived from a fact":    {"/fact", order1, []string{"Deed-Meta-Run", "M\xfcller"}, "Deed-Meta-Run"},
		"without a key":                   {"/keyless/M%FCller", order1, nil, "the path"},
		"in a tool's value of the path":   {"/tool/M%FCller", order1, keyed, "the to"},
		"in a tool's value of the query":  {"/tool/x?why=M%FCller", order1, keyed, "the why"},
		"in a media type that is no JSON": {"/pay/x", "hello", append([]string{"Content-Type", "text/plain; name=\"M\xfcller\""}, keyed...), "the type"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.send("POST", c.path, c.body, c.header...)
			got.wants(t, 400, "Deed-Reason", "bad_arguments")
			if !strings.Contains(got.body, c.names) || !strings.Contains(got.body, "UTF-8") {
				t.Errorf("it does not say that %s is not UTF-8: %s", c.names, got.body)
			}
		})
	}
	if effects.Load() != 0 || r.operations() != 0 {
		t.Errorf("%d effects, %d operations", effects.Load(), r.operations())
	}
	r.send("POST", "/pay/M%C3%BCller?to=%C3%A9", order1, "Idempotency-Key", key, "Payee", "Müller").wants(t, 200, "Deed-Decision", "execute")
	r.send("POST", "/pay/x", "\xfc", "Idempotency-Key", other, "Content-Type", "application/octet-stream").wants(t, 200, "Deed-Decision", "execute")
}
