// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/canon"
)

// typical is an argument object of about 200 bytes.
const typical = `{"order_id":"ord_8f3a91c2","amount":1250,"currency":"EUR","customer":{"id":"cus_19","email":"ann@example.com"},"items":[{"sku":"A-1","qty":2},{"sku":"B-7","qty":1}],"reason":"customer asked","notify":true}`

func BenchmarkFingerprintTypical(b *testing.B) {
	benchmarkFingerprint(b, canon.Rules{}, typical)
}

func BenchmarkFingerprintTypicalWithRules(b *testing.B) {
	benchmarkFingerprint(b, canon.Rules{
		Include: []string{"/order_id", "/amount", "/currency", "/customer", "/items", "/notify"}, Exclude: []string{"/reason"}, Require: []string{"/order_id"},
		Defaults:  map[string]json.RawMessage{"/express": json.RawMessage(`false`)},
		Normalize: map[string][]string{"/currency": {"upper"}, "/customer/email": {"email_domain"}}, Unordered: map[string]string{"/items": "multiset"},
		Unlisted: "ignore",
	}, typical)
}

func BenchmarkFingerprintText64KiB(b *testing.B) {
	benchmarkFingerprint(b, canon.Rules{}, `{"body":"`+strings.Repeat("Dear Ann,\\n", 6000)+`"}`)
}

// The documents below are shaped to hurt.
func BenchmarkFingerprintManyMembers(b *testing.B) {
	var doc strings.Builder
	doc.WriteByte('{')
	for i := range 20000 {
		if i > 0 {
			doc.WriteByte(',')
		}
		doc.WriteString(`"` + strings.Repeat("x", 20) + string(rune('a'+i*7%26)) + json.Number(strings.Repeat("1", 1+i%3)).String() + string(rune(0x4e00+i)) + `":0`)
	}
	doc.WriteByte('}')
	benchmarkFingerprint(b, canon.Rules{Include: []string{"/a"}, Unlisted: "ignore"}, doc.String())
}

func BenchmarkFingerprintDeepAndWide(b *testing.B) {
	row := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	benchmarkFingerprint(b, canon.Rules{}, `{"a":[`+strings.Repeat(row+",", 4000)+row+`]}`)
}

func BenchmarkFingerprintHostileNumbers(b *testing.B) {
	number := "1" + strings.Repeat("7", 240) + "e-99999999,"
	benchmarkFingerprint(b, canon.Rules{}, `{"a":[`+strings.Repeat(number, 2000)+`0]}`)
}

func benchmarkFingerprint(b *testing.B, r canon.Rules, args string) {
	p := compile(b, r)
	raw := []byte(args)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Fingerprint("shop/order.create", raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWithout(b *testing.B) {
	raw := []byte(strings.Replace(typical, `"currency"`, `"idempotency_key":"k-81920","currency"`, 1))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, found, err := canon.Without(raw, "idempotency_key"); err != nil || !found {
			b.Fatal(found, err)
		}
	}
}

func BenchmarkStrict(b *testing.B) {
	raw := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"order.create","arguments":` + typical + `}}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := canon.Strict(raw); err != nil {
			b.Fatal(err)
		}
	}
}
