// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"math"
	"strconv"
)

// minExponent bounds how small a number may be. Below float64 nothing forces a
// bound, but an exponent must have one to stay exact in an int.
const minExponent = -999_999_999

// decimal is the value 0.d1d2d3... times ten to the power of point. Digits
// neither begin nor end with zero; no digits means zero.
type decimal struct {
	negative bool
	digits   []byte
	point    int
}

// scanNumber returns the length of the JSON number that src begins with, or 0.
func scanNumber(src []byte) int {
	i := 0
	digits := func() bool {
		start := i
		for i < len(src) && isDigit(src[i]) {
			i++
		}
		return i > start
	}
	if i < len(src) && src[i] == '-' {
		i++
	}
	start := i
	if !digits() || src[start] == '0' && i > start+1 {
		return 0
	}
	if i < len(src) && src[i] == '.' {
		i++
		if !digits() {
			return 0
		}
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// checkNumber applies the limits of a literal that scanNumber accepted.
func checkNumber(literal []byte) *Error {
	if len(literal) > MaxNumberLength {
		return &Error{Code: CodeNumberTooLong, Detail: "a number literal has more than " + strconv.Itoa(MaxNumberLength) + " characters: send a shorter number, or a string"}
	}
	// Without an exponent 256 characters stay inside the float64 range.
	if bytes.IndexByte(literal, 'e') < 0 && bytes.IndexByte(literal, 'E') < 0 {
		return nil
	}
	var buffer [MaxNumberLength]byte
	d, ok := decompose(literal, buffer[:0])
	if !ok || d.point > 309 || d.point-1 < minExponent {
		return outOfRange()
	}
	if d.point == 309 {
		if _, err := strconv.ParseFloat(string(literal), 64); err != nil {
			return outOfRange()
		}
	}
	return nil
}

func outOfRange() *Error {
	return &Error{Code: CodeNumberOutOfRange, Detail: "a number is outside the float64 range, most receivers would read infinity: send it as a string"}
}

// decompose reads a valid literal. It reports false when the exponent is
// beyond any accepted number. The digits may lie in the literal or in buffer.
func decompose(literal, buffer []byte) (decimal, bool) {
	var d decimal
	if literal[0] == '-' {
		d.negative = true
		literal = literal[1:]
	}
	mantissa, exponent := literal, []byte(nil)
	if i := bytes.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	d.digits, d.point = mantissa, len(mantissa)
	if i := bytes.IndexByte(mantissa, '.'); i >= 0 {
		d.digits = append(append(buffer, mantissa[:i]...), mantissa[i+1:]...)
		d.point = i
	}
	trimmed := bytes.TrimLeft(d.digits, "0")
	d.point -= len(d.digits) - len(trimmed)
	d.digits = bytes.TrimRight(trimmed, "0")
	if len(d.digits) == 0 {
		return decimal{}, true
	}
	if exponent == nil {
		return d, true
	}
	down := exponent[0] == '-'
	if down || exponent[0] == '+' {
		exponent = exponent[1:]
	}
	exponent = bytes.TrimLeft(exponent, "0")
	if len(exponent) > 10 {
		return d, false
	}
	var e int64
	for _, c := range exponent {
		e = e*10 + int64(c-'0')
	}
	if e > 2_000_000_000 {
		return d, false
	}
	if down {
		e = -e
	}
	d.point += int(e)
	return d, true
}

// shortest is the decimal of the shortest text that reads back as f.
func shortest(f float64, buffer []byte) decimal {
	d, _ := decompose(strconv.AppendFloat(nil, f, 'e', -1, 64), buffer)
	return d
}

func (d decimal) equal(other decimal) bool {
	return d.negative == other.negative && d.point == other.point && bytes.Equal(d.digits, other.digits)
}

// append writes the decimal in the layout of ECMAScript Number::toString
// (ECMA-262 section 6.1.6.1.20, RFC 8785 section 3.2.2.3).
func (d decimal) append(dst []byte) []byte {
	if len(d.digits) == 0 {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	k, n := len(d.digits), d.point
	switch {
	case k <= n && n <= 21:
		dst = append(dst, d.digits...)
		return appendZeros(dst, n-k)
	case 0 < n && n <= 21:
		dst = append(dst, d.digits[:n]...)
		return append(append(dst, '.'), d.digits[n:]...)
	case -6 < n && n <= 0:
		dst = appendZeros(append(dst, "0."...), -n)
		return append(dst, d.digits...)
	}
	dst = append(dst, d.digits[0])
	if k > 1 {
		dst = append(append(dst, '.'), d.digits[1:]...)
	}
	dst = append(dst, 'e')
	if n > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(n-1), 10)
}

func appendZeros(dst []byte, n int) []byte {
	return append(dst, "000000000000000000000"[:n]...)
}

// appendNumber writes a checked literal under the numbers rule.
func appendNumber(dst, literal []byte, mode numberMode) ([]byte, *Error) {
	if isPlainInteger(literal) {
		return append(dst, literal...), nil
	}
	var buffer, floatBuffer [MaxNumberLength]byte
	d, _ := decompose(literal, buffer[:0])
	if mode == numbersExact {
		return d.append(dst), nil
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil && math.IsInf(f, 0) {
		return nil, outOfRange()
	}
	s := shortest(f, floatBuffer[:0])
	if mode == numbersInterop && !s.equal(d) {
		return nil, &Error{Code: CodeNumberNotFloat64, Detail: "float64 does not hold this number exactly and numbers is interop: send it as a string"}
	}
	return s.append(dst), nil
}

// isPlainInteger reports whether the literal is already canonical under every
// numbers rule: at most 15 digits, no sign of zero, no point, no exponent.
func isPlainInteger(literal []byte) bool {
	digits := literal
	if digits[0] == '-' {
		digits = digits[1:]
		if digits[0] == '0' {
			return false
		}
	}
	if len(digits) > 15 {
		return false
	}
	for _, c := range digits {
		if !isDigit(c) {
			return false
		}
	}
	return true
}
