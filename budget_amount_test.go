// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deed-run/deed"
)

func TestAmountsAreReadExactly(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0.00", "-0": "0.00", "12": "12.00", "12.5": "12.50", "12.50": "12.50", "0.000001": "0.000001",
		"0.1": "0.10", "00012.10": "12.10", "1.5000000000": "1.50", "1e3": "1000.00", "1.25E+2": "125.00", "125e-3": "0.125",
		"-3.07": "-3.07", "999999999999.999999": "999999999999.999999", "0.30": "0.30", "9007199254740993e-6": "9007199254.740993",
	} {
		amount, err := deed.ParseAmount(text)
		if err != nil || amount.String() != want {
			t.Errorf("%s is %s, %v, want %s", text, amount, err, want)
		}
	}
}

func TestWhatIsNoExactAmountIsRefusedAndSaysWhy(t *testing.T) {
	for text, why := range map[string]string{
		"": "not an amount", ".5": "not an amount", "5.": "not an amount", "1,5": "not an amount", "+1": "not an amount",
		"NaN": "not an amount", "0x10": "not an amount", "1e": "exponent", "1e1000000": "exponent", " 1": "not an amount",
		"0.0000001": "more than 6 decimals", "1e-7": "more than 6 decimals", "1000000000000": "out of range",
		"1e12": "out of range", strings.Repeat("9", 400): "out of range", "-1e12": "out of range",
	} {
		if amount, err := deed.ParseAmount(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is %s, %v, want %q", text, amount, err, why)
		}
	}
}

func TestAmountsInJSONAreReadAsText(t *testing.T) {
	for raw, want := range map[string]string{`12.50`: "12.50", `"12.50"`: "12.50", ` 0.1 `: "0.10", `1e2`: "100.00"} {
		amount, err := deed.AmountOf(json.RawMessage(raw))
		if err != nil || amount.String() != want {
			t.Errorf("%s is %s, %v, want %s", raw, amount, err, want)
		}
	}
	for _, raw := range []string{``, `null`, `true`, `{}`, `""`, `"ten"`} {
		if amount, err := deed.AmountOf(json.RawMessage(raw)); err == nil {
			t.Errorf("%s is %s", raw, amount)
		}
	}
	if got := deed.Amount(math.MinInt64).String(); got != "-9223372036854.775808" {
		t.Errorf("the least amount is written %s", got)
	}
}

func TestAnAmountIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := deed.Amount(rapid.Int64Range(-999_999_999_999_999_999, 999_999_999_999_999_999).Draw(t, "micros"))
		if got, err := deed.ParseAmount(want.String()); err != nil || got != want {
			t.Fatalf("%d is written %s and read %d, %v", int64(want), want, int64(got), err)
		}
	})
}

func TestWhatItDidCostIsNeverReadAsLess(t *testing.T) {
	const most = deed.Amount(999_999_999_999_999_999)
	for _, c := range []struct {
		text  string
		scale int
		want  deed.Amount
	}{
		{"12.34", 0, 12_340_000}, {`"12.34"`, 0, 12_340_000}, {"1234", 2, 12_340_000}, {"0", 2, 0},
		{"12.3400001", 0, 12_340_001}, {"12.340000000000001", 0, 12_340_001}, {"0.0000001", 0, 1}, {"1e-50", 0, 1},
		{"0.00001", 2, 1}, {"123.456789", 2, 1_234_568}, {"0.9999999", 0, 1_000_000},
		{"999999999999.9999999", 0, most}, {"1e12", 0, most}, {"1e30", 0, most}, {"1e13", 2, 100_000_000_000_000_000}, {"1e15", 2, most},
		{"-1.0000001", 0, -1_000_000},
	} {
		if got, err := deed.CostOf(json.RawMessage(c.text), c.scale); err != nil || got != c.want {
			t.Errorf("%s e-%d: %d, %v, want %d", c.text, c.scale, got, err, c.want)
		}
	}
	for _, text := range []string{"", `"ten"`, "true", "null", "1e999"} {
		if got, err := deed.CostOf(json.RawMessage(text), 0); err == nil {
			t.Errorf("%s did cost %d", text, got)
		}
	}
}

func TestSumsDoNotWrap(t *testing.T) {
	const most, least = deed.Amount(math.MaxInt64), deed.Amount(math.MinInt64)
	for _, c := range [][3]deed.Amount{{1, 2, 3}, {1, -2, -1}, {most, 1, most}, {most, most, most}, {least, -1, least}, {least, least, least}, {most, -1, most - 1}, {-most, most, 0}} {
		if got := c[0].Plus(c[1]); got != c[2] {
			t.Errorf("%d and %d are %d", c[0], c[1], got)
		}
	}
}
