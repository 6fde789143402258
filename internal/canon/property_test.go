// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/deed-run/deed/internal/canon"
)

// value is a generated JSON value that can be written in many ways.
type value struct {
	scalar  string
	names   []string
	members []value
	object  bool
}

func drawValue(t *rapid.T, depth int) value {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind < 2 || depth == 0 && kind > 3:
		return value{scalar: drawNumber(t)}
	case kind == 2:
		return value{scalar: quote(rapid.String().Draw(t, "text"))}
	case kind == 3:
		return value{scalar: rapid.SampledFrom([]string{"null", "true", "false", `""`, "[]", "{}"}).Draw(t, "word")}
	}
	v := value{object: kind == 5}
	for range rapid.IntRange(1, 16).Draw(t, "size") {
		if v.object {
			v.names = append(v.names, fmt.Sprintf("%s %d", rapid.String().Draw(t, "name"), len(v.names)))
		}
		v.members = append(v.members, drawValue(t, depth-1))
	}
	return v
}

func drawNumber(t *rapid.T) string {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
}

func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if r < 0x20 || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04X`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String() + `"`
}

// write writes the value with members in a drawn order.
func (v value) write(t *rapid.T) string {
	if v.members == nil {
		return v.scalar
	}
	order := make([]int, len(v.members))
	for i := range order {
		order[i] = i
	}
	if v.object {
		order = rapid.Permutation(order).Draw(t, "order")
	}
	var parts []string
	for _, i := range order {
		part := v.members[i].write(t)
		if v.object {
			part = quote(v.names[i]) + " : " + part
		}
		parts = append(parts, part)
	}
	if v.object {
		return "{" + strings.Join(parts, ",\n") + "}"
	}
	return "[ " + strings.Join(parts, ", ") + " ]"
}

func TestCanonicalOfCanonicalIsEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := drawValue(t, 3).write(t)
		once, err := canon.CanonicalJSON([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		twice, err := canon.CanonicalJSON(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%s became %s, error %v", once, twice, err)
		}
	})
}

func TestMemberOrderIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		one, err := canon.CanonicalJSON([]byte(v.write(t)))
		if err != nil {
			t.Fatal(err)
		}
		other, err := canon.CanonicalJSON([]byte(v.write(t)))
		if err != nil || string(one) != string(other) {
			t.Fatalf("%s and %s, error %v", one, other, err)
		}
	})
}

// Rational arithmetic decides independently whether two literals are equal.
func TestNumbersMergeExactlyWhenTheirValuesAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawNumber(t)
		b := rapid.OneOf(rapid.Just(respell(t, a)), rapid.Just(nudge(t, a)), rapid.Just(drawNumber(t))).Draw(t, "other")
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY {
			t.Fatalf("not numbers: %s, %s", a, b)
		}
		canonicalA, errA := canon.CanonicalJSON([]byte(a))
		canonicalB, errB := canon.CanonicalJSON([]byte(b))
		if errA != nil || errB != nil {
			t.Fatalf("%s: %v; %s: %v", a, errA, b, errB)
		}
		if same := string(canonicalA) == string(canonicalB); same != (x.Cmp(y) == 0) {
			t.Fatalf("%s -> %s, %s -> %s", a, canonicalA, b, canonicalB)
		}
		if back, ok := new(big.Rat).SetString(string(canonicalA)); !ok || back.Cmp(x) != 0 {
			t.Fatalf("%s -> %s changes the value", a, canonicalA)
		}
	})
}

// For every float64 the exact form of its shortest text is the RFC 8785 form.
func TestShortestTextIsTheFormOfRFC8785(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		want, err := jcs.NumberToJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		literal := strconv.FormatFloat(f, 'g', -1, 64)
		exact, err := canon.CanonicalJSON([]byte(literal))
		if err != nil || string(exact) != want {
			t.Fatalf("%s: got %s, want %s, error %v", literal, exact, want, err)
		}
		rounded, _, err := ieee754Program.Pick([]byte(`{"v":`+strconv.FormatFloat(f, 'e', 30, 64)+`}`), "/v")
		if err != nil || string(rounded) != want {
			t.Fatalf("%s: rounded %s, want %s, error %v", literal, rounded, want, err)
		}
	})
}

// respell writes the same value with a longer fraction and another exponent.
func respell(t *rapid.T, literal string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if exponent == "" {
		exponent = "0"
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	return mantissa + strings.Repeat("0", rapid.IntRange(1, 5).Draw(t, "zeros")) + "E" + exponent
}

// nudge changes one digit of the mantissa.
func nudge(t *rapid.T, literal string) string {
	mantissa, rest, found := strings.Cut(strings.ToLower(literal), "e")
	if found {
		rest = "e" + rest
	}
	last := len(mantissa) - 1
	if mantissa == "0" || mantissa == "-0" {
		return mantissa[:last] + "1" + rest
	}
	digit := '0' + (mantissa[last]-'0'+1)%10
	if last == 0 || mantissa[last-1] == '-' {
		digit = '1' + (mantissa[last]-'0')%9
	}
	return mantissa[:last] + string(rune(digit)) + rest
}

func TestWithoutUndoesAnInsertion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value{object: true, names: []string{"b", "a"}, members: []value{drawValue(t, 2), drawValue(t, 2)}}
		plain, err := canon.CanonicalJSON([]byte(v.write(t)))
		if err != nil {
			t.Fatal(err)
		}
		v.names, v.members = append(v.names, "key"), append(v.members, drawValue(t, 1))
		rest, _, found, err := canon.Without([]byte(v.write(t)), "key")
		if err != nil || !found {
			t.Fatalf("found %t, error %v", found, err)
		}
		again, err := canon.CanonicalJSON(rest)
		if err != nil || string(again) != string(plain) {
			t.Fatalf("got %s, want %s, error %v", again, plain, err)
		}
	})
}
