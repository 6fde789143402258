// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func TestConditionsSeeTheArguments(t *testing.T) {
	for _, test := range []struct {
		name, when, args string
		want             bool
	}{
		{"an integer above the bound", "args.amount > 1000", `{"amount":1001}`, true},
		{"an integer below the bound", "args.amount > 1000", `{"amount":1000}`, false},
		{"a decimal against an integer bound", "args.amount > 1000", `{"amount":1000.01}`, true},
		{"an integer against a decimal bound", "args.amount > 999.5", `{"amount":1000}`, true},
		{"an integer spelled as a decimal is an integer", "type(args.amount) == int", `{"amount":1e3}`, true},
		{"a decimal is a double", "type(args.amount) == double", `{"amount":0.1}`, true},
		{"an integer beyond 2^53 is exact", "args.id == 9007199254740993", `{"id":9007199254740993}`, true},
		{"an integer beyond 64 bits still compares", "args.id > 1", `{"id":99999999999999999999}`, true},
		{"a missing argument can be asked for", "has(args.amount) && args.amount > 1", `{}`, false},
		{"lists and texts", "args.tags.exists(t, t.startsWith('vip'))", `{"tags":["a","vip-1"]}`, true},
		{"null", "args.x == null", `{"x":null}`, true},
		{"who and where", "tool == 'a/make' && tenant == 't' && actor == 'bob'", `{}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			condition, err := policy.CompileCondition(test.when)
			if err != nil {
				t.Fatal(err)
			}
			got, err := condition.Holds("a/make", []byte(test.args), deed.Principal{Tenant: "t", Actor: "bob"})
			if err != nil || got != test.want {
				t.Errorf("holds: %t, %v, want %t", got, err, test.want)
			}
		})
	}
}

func TestAConditionThatFailsDenies(t *testing.T) {
	for _, test := range []struct{ name, when, args string }{
		{"a missing argument", "args.amount > 1000", `{}`},
		{"another type", "args.amount > 1000", `{"amount":"1000"}`},
		{"no truth value", "args.flag", `{"flag":1}`},
		{"arguments that are no JSON", "true", `{`},
		{"a duplicate member", "args.a == 1", `{"a":1,"a":2}`},
		{"too much work", "args.l.all(a, args.l.all(b, args.l.all(c, a + b + c >= 0)))", `{"l":[` + strings.Repeat("1,", 200) + `1]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := parse(t, "upstreams: {a: {command: [x]}}\ntools: {a/make: {deny: {when: \""+test.when+"\", reason: too much}}}")
			rule := config.Policy().Rule("a/make", deed.ToolFacts{})
			got := rule.Deny([]byte(test.args), deed.Principal{})
			if !strings.HasPrefix(got, "too much (its condition could not be evaluated: ") {
				t.Errorf("deny said %q", got)
			}
		})
	}
}

func TestTheFirstRuleThatDeniesIsTold(t *testing.T) {
	config := parse(t, `
upstreams: {a: {command: [x]}}
tools:
  a/make: {deny: [{when: "args.n > 10", reason: large}, {when: "args.n > 5"}]}
`)
	deny := config.Policy().Rule("a/make", deed.ToolFacts{}).Deny
	for args, want := range map[string]string{`{"n":11}`: "large", `{"n":6}`: "the policy refuses it", `{"n":5}`: ""} {
		if got := deny([]byte(args), deed.Principal{}); got != want {
			t.Errorf("deny(%s) = %q, want %q", args, got, want)
		}
	}
}

func TestConditionsAreSafeForConcurrentUse(t *testing.T) {
	condition, err := policy.CompileCondition("args.l.exists(x, x == 7)")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got, err := condition.Holds("a/b", []byte(`{"l":[1,7]}`), deed.Principal{}); !got || err != nil {
					t.Errorf("holds: %t, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
