// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deed-run/deed/internal/canon"
)

func ExampleProgram_Fingerprint() {
	program, err := canon.Compile(canon.Rules{Exclude: []string{"/trace_id"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := program.Fingerprint("shop/refund.create", []byte(`{"order_id":"A-17","amount":5,"trace_id":"t1"}`))
	retry, _ := program.Fingerprint("shop/refund.create", []byte(`{"amount":5.0,"order_id":"A-17","trace_id":"t2"}`))
	fmt.Println(first == retry)
	// Output: true
}

func ExampleProgram_Canonical() {
	program, err := canon.Compile(canon.Rules{
		Include:   []string{"/order_id", "/amount", "/currency", "/items/*/sku"},
		Exclude:   []string{"/reason"},
		Require:   []string{"/order_id"},
		Defaults:  map[string]json.RawMessage{"/currency": json.RawMessage(`"EUR"`)},
		Normalize: map[string][]string{"/amount": {"decimal"}},
		Unordered: map[string]string{"/items": "multiset"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	canonical, err := program.Canonical("shop/refund.create", []byte(`{"order_id":"A-17","amount":"10.50","items":[{"sku":"B"},{"sku":"A"}],"reason":"late"}`))
	fmt.Println(string(canonical), err)
	// Output: {"args":{"amount":10.5,"currency":"EUR","items":[{"sku":"A"},{"sku":"B"}],"order_id":"A-17"},"tool":"shop/refund.create","v":"jx1"} <nil>
}

func ExampleCompile_invalid() {
	_, err := canon.Compile(canon.Rules{Normalize: map[string][]string{"/currency": {"upcase"}}})
	fmt.Println(err)
	// Output: fingerprint rules refused at "/currency": normalize: unknown normaliser upcase: write one of decimal, email_domain, url, instant, lower, upper, trim, collapse_space, newlines, uuid, nfc, digest (invalid_rules)
}

func ExampleStrict() {
	err := canon.Strict([]byte(`{"amount":1,"amount":100}`))
	var refusal *canon.Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, refusal.Pointer)
	}
	// Output: duplicate_member /amount
}

func ExampleCanonicalJSON() {
	canonical, err := canon.CanonicalJSON([]byte(`{"b": 1234567890123456789, "a": 1.50}`))
	fmt.Println(string(canonical), err)
	// Output: {"a":1.5,"b":1234567890123456789} <nil>
}

func ExamplePick() {
	value, found, err := canon.Pick([]byte(`{"order": {"id": "A-17"}}`), "/order/id")
	fmt.Println(string(value), found, err)
	// Output: "A-17" true <nil>
}

func ExampleWithout() {
	rest, key, found, err := canon.Without([]byte(`{"amount": 5, "idempotency_key": "k-1", "to": "ann"}`), "idempotency_key")
	fmt.Println(string(rest), string(key), found, err)
	// Output: {"amount": 5, "to": "ann"} "k-1" true <nil>
}
