// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"strings"
	"time"
)

// normaliseInstant reads an RFC 3339 date-time with offset and writes it in
// UTC. Fractions keep every digit but trailing zeros; nothing is rounded.
func normaliseInstant(text string) (string, string) {
	const problem = "the value is not a date-time with offset: write it like 2026-05-01T10:00:00Z (RFC 3339)"
	const fixed = "0000-00-00T00:00:00"
	if len(text) < len(fixed)+1 || !hasShape(text[:len(fixed)], fixed) {
		return "", problem
	}
	clock, rest := text[:len(fixed)], text[len(fixed):]
	fraction := ""
	if rest[0] == '.' {
		end := 1
		for end < len(rest) && isDigit(rest[end]) {
			end++
		}
		if end == 1 {
			return "", problem
		}
		fraction, rest = strings.TrimRight(rest[:end], "0"), rest[end:]
		fraction = strings.TrimSuffix(fraction, ".")
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return "", problem
	}
	at, err := time.Parse("2006-01-02t15:04:05", strings.ToLower(clock))
	if err != nil {
		return "", "the value is no existing date and time: write a valid one, leap seconds are not accepted"
	}
	at = at.Add(-offset)
	if at.Year() < 0 || at.Year() > 9999 {
		return "", "the value lies outside the years 0000 to 9999 in UTC: write a time inside"
	}
	return at.Format("2006-01-02T15:04:05") + fraction + "Z", ""
}

func hasShape(text, shape string) bool {
	for i := range len(shape) {
		switch c := text[i]; {
		case shape[i] == '0' && !isDigit(c):
			return false
		case shape[i] == 'T' && c != 'T' && c != 't':
			return false
		case (shape[i] == '-' || shape[i] == ':') && c != shape[i]:
			return false
		}
	}
	return true
}

// parseOffset reads "Z" or a numeric offset of RFC 3339 section 5.6.
func parseOffset(text string) (time.Duration, bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) != 6 || text[0] != '+' && text[0] != '-' || !hasShape(text[1:], "00:00") {
		return 0, false
	}
	hours := int(text[1]-'0')*10 + int(text[2]-'0')
	minutes := int(text[4]-'0')*10 + int(text[5]-'0')
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if text[0] == '-' {
		offset = -offset
	}
	return offset, true
}
