// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import "testing"

func TestDefaultsAndNumbersInTextAreFilledIn(t *testing.T) {
	const amount = `{"type":"object","properties":{"amount":{"type":"number","default":5000}}}`
	for _, x := range []struct{ name, schema, arguments, want string }{
		{"a number in text", amount, `{"amount":"5000"}`, `{"amount":5000}`},
		{"a number in text with a sign, zeros, spaces and separators", amount, `{"amount":" +05_000 "}`, `{"amount":5000}`},
		{"an exponent in text", amount, `{"amount":"5e3"}`, `{"amount":5e3}`},
		{"a negative number in text", amount, `{"amount":"-0.5"}`, `{"amount":-0.5}`},
		{"text that is no number", amount, `{"amount":"lots"}`, `{"amount":"lots"}`},
		{"a default", amount, `{}`, `{"amount":5000}`},
		{"a number keeps its bytes", amount, `{"amount":1000.0000001}`, `{"amount":1000.0000001}`},
		{"a null is not a left out member", amount, `{"amount":null}`, `{"amount":null}`},
		{"text stays where the schema wants text", `{"properties":{"n":{"type":"string"}}}`, `{"n":"5"}`, `{"n":"5"}`},
		{"an optional number", `{"properties":{"n":{"anyOf":[{"type":"number"},{"type":"null"}],"default":7}}}`, `{"n":"5"}`, `{"n":5}`},
		{"an optional number that was left out", `{"properties":{"n":{"anyOf":[{"type":"number"},{"type":"null"}],"default":7}}}`, `{}`, `{"n":7}`},
		{"several types", `{"properties":{"n":{"type":["string","integer"]}}}`, `{"n":"5"}`, `{"n":5}`},
		{"a truth value in text", `{"properties":{"live":{"type":"boolean"}}}`, `{"live":"True"}`, `{"live":true}`},
		{"nested objects", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"integer","default":1}}}}}`, `{"a":{"c":2}}`, `{"a":{"c":2,"b":1}}`},
		{"a default that is an object", `{"properties":{"a":{"default":{"x":"7"},"properties":{"x":{"type":"number"},"y":{"default":2}}}}}`, `{}`, `{"a":{"x":7,"y":2}}`},
		{"elements of an array", `{"properties":{"a":{"items":{"properties":{"n":{"type":"number","default":3}}}}}}`, `{"a":[{"n":"1"},{}]}`, `{"a":[{"n":1},{"n":3}]}`},
		{"references", `{"$defs":{"m/n":{"type":"number","default":9}},"properties":{"a":{"$ref":"#/$defs/m~1n"},"b":{"$ref":"#/$defs/m~1n"}}}`, `{"a":"4"}`, `{"a":4,"b":9}`},
		{"all of several", `{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"b":{"default":2}}}]}`, `{}`, `{"a":1,"b":2}`},
		{"a schema of itself", `{"properties":{"a":{"$ref":"#"},"n":{"default":1}}}`, `{"a":{"a":{}}}`, `{"a":{"a":{"n":1},"n":1},"n":1}`},
		{"a reference to itself", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":"1"}`, `{"a":"1"}`},
		{"a schema that is followed for ever", `{"allOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}],"properties":{"n":{"default":1}}}`, `{}`, `{"n":1}`},
		{"no schema", ``, `{"a":"1"}`, `{"a":"1"}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := &schema{raw: []byte(x.schema)}
			if x.schema == "" {
				s = nil
			}
			if got := string(s.filled([]byte(x.arguments))); got != x.want {
				t.Errorf("got  %s\nwant %s", got, x.want)
			}
		})
	}
}

func TestNumbersInTextPassTheSchemaAsTheUpstreamMayTakeThem(t *testing.T) {
	s := &schema{raw: []byte(`{"type":"object","properties":{"amount":{"type":"number","maximum":9000}},"required":["amount"]}`)}
	for arguments, ok := range map[string]bool{`{"amount":"5000"}`: true, `{"amount":5e3}`: true, `{"amount":"9001"}`: false, `{"amount":"lots"}`: false, `{}`: false} {
		if problem := s.check([]byte(arguments)); (problem == "") != ok {
			t.Errorf("%s: %q", arguments, problem)
		}
	}
}
