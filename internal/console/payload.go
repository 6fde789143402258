// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownBytes is how much of a payload a page shows.
const shownBytes = 32 << 10

// payload is bytes as people can look at them: inert, with what hides in them
// made visible.
type payload struct {
	Runs []run
	Size int
	// Hidden counts the characters that would not be seen, also behind escapes.
	Hidden int
	// Cut is set when the page shows only the beginning.
	Cut bool
	// None: nothing is kept.
	None bool
}

func payloadOf(data []byte) payload {
	if len(data) == 0 {
		return payload{None: true}
	}
	p := payload{Size: len(data)}
	text := string(data)
	if len(data) <= 1<<20 {
		var laid bytes.Buffer
		if json.Valid(data) && json.Indent(&laid, data, "", "  ") == nil {
			text = laid.String()
		}
	}
	p.Cut = len(text) > shownBytes
	p.Runs = visibleJSON(text, shownBytes)
	p.Hidden = hiddenIn(text) + hiddenEscapes(text)
	return p
}

// visibleJSON is visible, and marks escapes in JSON text that stand for a
// character which would not be seen. The text itself stays as it was sent.
func visibleJSON(text string, limit int) []run {
	var runs []run
	for _, one := range visible(text, limit) {
		if one.Mark != "" {
			runs = append(runs, one)
			continue
		}
		begin := 0
		eachEscape(one.Text, func(at int, r rune) {
			mark, _, hidden := markOf(r, utf8.RuneLen(r), 0)
			if !hidden {
				return
			}
			if at > begin {
				runs = append(runs, run{Text: one.Text[begin:at]})
			}
			runs = append(runs, run{Mark: mark, Sign: one.Text[at : at+6]})
			begin = at + 6
		})
		if begin < len(one.Text) {
			runs = append(runs, run{Text: one.Text[begin:]})
		}
	}
	return runs
}

func hiddenEscapes(text string) int {
	n := 0
	eachEscape(text, func(_ int, r rune) {
		if _, _, hidden := markOf(r, utf8.RuneLen(r), 0); hidden {
			n++
		}
	})
	return n
}

// eachEscape visits the escapes of JSON text that begin with \u. Halves of surrogate pairs
// are visited as the replacement character, which is marked: an escape that
// hides in a pair is seen too.
func eachEscape(text string, do func(at int, r rune)) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i+5 < len(text) && text[i+1] == 'u' {
			if n, err := strconv.ParseUint(text[i+2:i+6], 16, 32); err == nil {
				r := rune(n)
				if !utf8.ValidRune(r) {
					r = unicode.ReplacementChar
				}
				do(i, r)
				i += 5
				continue
			}
		}
		i++ // the escaped character
	}
}

// arguments answers GET /op/{id}/arguments with the bytes as they were sent,
// as a file: no browser shows or runs them.
func (v *visit) arguments() {
	op, err := v.console.Runtime.Get(v.Context(), v.who, v.id())
	if err != nil {
		v.failed(err)
		return
	}
	if len(op.Arguments) == 0 {
		v.show(http.StatusNotFound, "failure", "Nothing is kept", failure{Head: "Nothing is kept", Text: "The arguments were removed when their retention ended. Digest and receipt stay.", Back: "/op/" + string(op.ID)})
		return
	}
	v.Header().Set("Content-Type", "application/octet-stream")
	v.Header().Set("Content-Disposition", "attachment; filename=\""+strings.TrimPrefix(string(op.ID), "op_")+".json\"")
	v.Header().Set("Content-Length", strconv.Itoa(len(op.Arguments)))
	_, _ = v.Write(op.Arguments)
}
