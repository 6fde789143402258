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
		{"an integer beyond 64 bits that a double holds", "args.id > 1", `{"id":100000000000000000000}`, true},
		{"money", "args.a == 12.10 && args.b == 0.1 && args.c > 1000000000000.0 && args.d < 0.31", `{"a":12.10,"b":0.10,"c":9999999999999.99,"d":0.30000000000000004}`, true},
		{"a number that would be rounded, and is not read", "args.amount > 100 && has(args.at)", `{"amount":101,"at":52.5200065999999990001,"ids":[99999999999999999999]}`, true},
		{"a rounded number equals none that it is not rounded to", "args.a != 101.0 && 101.0 != args.a && args.l != [101.0] && !(101.0 in args.l) && args.a != null", `{"a":100.0000000000000000001,"l":[100.0000000000000000002]}`, true},
		{"an unsigned number of 64 bits", "args.id > 1 && args.id == 12345678901234567890u", `{"id":12345678901234567890}`, true},
		{"a rounded number equals itself", "args.a == args.b && args.a in [args.b]", `{"a":100.0000000000000000001,"b":100.00000000000000000010}`, true},
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
		{"digits that a double has no room for", "args.amount > 100", `{"amount":100.0000000000000000001}`},
		{"a rounded number in a list", "args.l.exists(x, x > 100)", `{"l":[1,100.0000000000000000001]}`},
		{"an integer that would be rounded", "args.id > 1", `{"id":99999999999999999999}`},
		{"a rounded number behind the bound", "100 < args.amount", `{"amount":100.0000000000000000001}`},
		{"two rounded numbers", "args.a < args.b", `{"a":100.0000000000000000001,"b":100.0000000000000000002}`},
		{"a bound behind a type", "type(args.amount) == double && args.amount > 100.0", `{"amount":150.0000000000000000001}`},
		{"a number that a receiver rounds to the one refused", "args.n == 42", `{"n":42.0000000000000000001}`},
		{"one that it rounds to the one allowed", "args.n != 42", `{"n":42.0000000000000000001}`},
		{"one of a list", "42 in args.l", `{"l":[1,42.0000000000000000001]}`},
		{"a whole list", "[42] == args.l", `{"l":[42.0000000000000000001]}`},
		{"a whole object", "args.m == {'n': 42}", `{"m":{"n":42.0000000000000000001}}`},
		{"an unsigned number that a double rounds", "args.id == 12345678901234567891u", `{"id":12345678901234567890}`},
		{"arithmetic with a rounded number", "args.a * 2.0 > 100.0 || 2.0 * args.a > 100.0", `{"a":100.0000000000000000001}`},
		{"a rounded number as a double", "double(args.a) > 100.0", `{"a":100.0000000000000000001}`},
		{"a number that would become 0", "args.amount > 0", `{"amount":1e-400}`},
		{"a text made of a rounded number", "string(args.id).endsWith('9')", `{"id":99999999999999999999}`},
		{"a rounded number among all", "!args.l.all(x, x <= 100)", `{"l":[1,100.0000000000000000001]}`},
		{"a rounded number below", "args.a.b.c > 100", `{"a":{"b":{"c":100.0000000000000000001}}}`},
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

// Whoever compares with a bound must not be passed by digits that are rounded off.
func TestANumberThatWouldBeRoundedIsNamedAndHeldForAPerson(t *testing.T) {
	config := parse(t, "upstreams: {a: {command: [x]}}\ntools: {a/make: {deny: {when: args.amount > 1000}, approval: {when: args.amount > 100}}}")
	rule := config.Policy().Rule("a/make", deed.ToolFacts{})
	arguments := []byte(`{"amount":100.0000000000000000001}`)
	if got := rule.Deny(arguments, deed.Principal{}); !strings.Contains(got, "100.0000000000000000001 would be rounded to 100: send it with at most 15 digits") {
		t.Errorf("deny says %q", got)
	}
	if !rule.Approval.When(arguments, deed.Principal{}) || rule.Approval.When([]byte(`{"amount":99.99}`), deed.Principal{}) {
		t.Error("not what is rounded alone waits for a person")
	}
	equal, err := policy.CompileCondition("args.a == args.b")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := equal.Holds("a/make", []byte(`{"a":12345678901234567890,"b":12345678901234567000}`), deed.Principal{}); err == nil {
		t.Errorf("two numbers that a double takes for one: %t", got)
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
