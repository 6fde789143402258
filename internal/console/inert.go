// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// run is a piece of text, or the name of a character that would not be seen
// or would move what is seen.
type run struct {
	Text string
	// Mark names the character, such as "U+202E right-to-left override".
	Mark string
	// Sign is what is shown in its place.
	Sign string
}

// namedMarks are the characters that attackers hide with, by name; others are told
// by number.
var namedMarks = map[rune]string{
	0x00: "null", 0x07: "bell", 0x08: "backspace", 0x0B: "vertical tab", 0x0C: "form feed", 0x0D: "carriage return",
	0x1B: "escape: begins a terminal command", 0x7F: "delete", 0x9B: "control sequence introducer", 0xA0: "no-break space", 0xAD: "soft hyphen",
	0x034F: "combining grapheme joiner", 0x061C: "Arabic letter mark", 0x115F: "Hangul filler", 0x1160: "Hangul filler", 0x3164: "Hangul filler", 0xFFA0: "Hangul filler",
	0x180E: "Mongolian vowel separator", 0x200B: "zero-width space", 0x200C: "zero-width non-joiner", 0x200D: "zero-width joiner",
	0x200E: "left-to-right mark", 0x200F: "right-to-left mark", 0x2028: "line separator", 0x2029: "paragraph separator",
	0x202A: "left-to-right embedding", 0x202B: "right-to-left embedding", 0x202C: "pop directional formatting",
	0x202D: "left-to-right override", 0x202E: "right-to-left override", 0x2060: "word joiner",
	0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate", 0x2068: "first strong isolate", 0x2069: "pop directional isolate",
	0xFEFF: "byte order mark", 0x2800: "blank braille pattern", utf8.RuneError: "replacement character",
}

// visible splits a text into what can be shown as it is and marks for what
// cannot: control, format, bidirectional, tag, variation and private
// characters, spaces that are not one, and bytes that are no UTF-8. At most
// limit bytes are read; the last run says that there is more.
func visible(text string, limit int) []run {
	var runs []run
	rest := ""
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		rest = fmt.Sprintf("… and %d more bytes", len(text)-limit)
		text = text[:limit]
	}
	begin := 0
	flush := func(to int) {
		if to > begin {
			runs = append(runs, run{Text: text[begin:to]})
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if mark, sign, hidden := markOf(r, size, text[i]); hidden {
			flush(i)
			runs = append(runs, run{Mark: mark, Sign: sign})
			begin = i + size
		}
		i += size
	}
	flush(len(text))
	if rest != "" {
		runs = append(runs, run{Mark: "the text is longer than this page shows", Sign: rest})
	}
	return runs
}

func markOf(r rune, size int, first byte) (mark, sign string, hidden bool) {
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf("byte %#02x, which is no UTF-8", first), fmt.Sprintf("\\x%02X", first), true
	}
	if r == '\n' || r == '\t' || r == ' ' || !hides(r) {
		return "", "", false
	}
	sign = fmt.Sprintf("U+%04X", r)
	if name, ok := namedMarks[r]; ok {
		return sign + " " + name, sign, true
	}
	return sign, sign, true
}

// hides reports whether a character is not seen, or moves its neighbours.
func hides(r rune) bool {
	switch {
	case r < 0x7F && r >= 0x20:
		return false
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Zs, unicode.Variation_Selector):
		return true
	case !unicode.IsPrint(r) && !unicode.In(r, unicode.M):
		return true
	}
	_, named := namedMarks[r]
	return named
}

// hiddenIn counts the characters of a text that visible would mark.
func hiddenIn(text string) int {
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if _, _, hidden := markOf(r, size, text[i]); hidden {
			n++
		}
		i += size
	}
	return n
}
