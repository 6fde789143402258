// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed/internal/canon"
)

// text reads a string that is not empty. A number is none: what YAML makes of it is seldom what was typed.
func (r *reader) text(at place) (string, bool) {
	switch n := at.node.(type) {
	case *ast.StringNode:
		if n.Value != "" {
			return n.Value, true
		}
		r.refuse(at, "is empty", "write a text, or remove the key")
		return "", false
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		r.wrongKind(at, "a text", "write \""+at.node.GetToken().Value+"\" in quotes")
		return "", false
	}
	r.wrongKind(at, "a text", "write a text")
	return "", false
}

func textField[T any](name string, into func(*T) *string) field[T] {
	return field[T]{name, func(r *reader, at place, t *T) {
		if text, ok := r.text(at); ok {
			*into(t) = text
		}
	}}
}

func pointerField[T any](name string, into func(*T) *string) field[T] {
	return field[T]{name, func(r *reader, at place, t *T) {
		if text, ok := r.pointer(at); ok {
			*into(t) = text
		}
	}}
}

func truthField[T any](name string, into func(*T) *bool) field[T] {
	return field[T]{name, func(r *reader, at place, t *T) {
		if n, ok := at.node.(*ast.BoolNode); ok {
			*into(t) = n.Value
			return
		}
		r.wrongKind(at, "true or false", "write true or false")
	}}
}

func durationField[T any](name string, into func(*T) *time.Duration) field[T] {
	return field[T]{name, func(r *reader, at place, t *T) { r.duration(at, into(t)) }}
}

func countField[T any](name string, least, most int, into func(*T) *int) field[T] {
	return field[T]{name, func(r *reader, at place, t *T) {
		if n, ok := r.number(at); ok {
			if n < least || n > most {
				r.refuse(at, "is out of range", "write a number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
				return
			}
			*into(t) = n
		}
	}}
}

func wordField[T any, W ~string](name string, into func(*T) *W, words ...W) field[T] {
	return field[T]{name, func(r *reader, at place, t *T) {
		text, ok := r.text(at)
		if !ok {
			return
		}
		if !slices.Contains(words, W(text)) {
			var list []string
			for _, w := range words {
				list = append(list, string(w))
			}
			r.refuse(at, text+" is not known here", "write "+strings.Join(list, " or "))
			return
		}
		*into(t) = W(text)
	}}
}

func (r *reader) number(at place) (int, bool) {
	if n, ok := at.node.(*ast.IntegerNode); ok {
		switch v := n.Value.(type) {
		case int64:
			return int(v), true
		case uint64:
			return int(v), true
		}
	}
	r.wrongKind(at, "a whole number", "write a whole number")
	return 0, false
}

// pointer reads an RFC 6901 pointer to one value. A whole segment "-1" after an array means its last element, in pagination only.
func (r *reader) pointer(at place) (string, bool) {
	text, ok := r.text(at)
	if !ok {
		return "", false
	}
	if wrong := badPointer(text); wrong != "" {
		remedy := "write a JSON pointer such as /data/id"
		if !strings.HasPrefix(text, "/") {
			remedy = "write /" + strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(text, "$"), "."), ".", "/") + " instead"
		}
		r.refuse(at, "pointer "+text+" "+wrong, remedy)
		return "", false
	}
	return text, true
}

func (r *reader) pointerList(at place) []string {
	var list []string
	for _, item := range r.items(at, "pointers") {
		if text, ok := r.pointer(item); ok {
			list = append(list, text)
		}
	}
	return list
}

func badPointer(text string) string {
	if !strings.HasPrefix(text, "/") {
		return "does not begin with /"
	}
	if _, _, err := canon.Pick([]byte("{}"), text); err != nil {
		return "is no JSON pointer: " + err.Error()
	}
	return ""
}

// duration reads "90s", "2h", "30d" and the like.
func (r *reader) duration(at place, into *time.Duration) {
	text, ok := r.text(at)
	if !ok {
		return
	}
	d, ok := parseDuration(text)
	if !ok {
		r.refuse(at, text+" is no positive duration", "write such as 30s, 2m, 24h or 30d")
		return
	}
	*into = d
}

func parseDuration(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n > 0 && n < 36500
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

func (r *reader) pattern(at place) *regexp.Regexp {
	text, ok := r.text(at)
	if !ok {
		return nil
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		r.refuse(at, "does not compile: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "write a regular expression of RE2")
		return nil
	}
	return compiled
}

// size reads a number of bytes: 65536, 64KiB, 1MiB.
func (r *reader) size(at place, into *int64) {
	if n, ok := at.node.(*ast.IntegerNode); ok {
		if v, is := n.Value.(uint64); is && v > 0 && v <= 64<<20 {
			*into = int64(v)
			return
		}
	}
	written := ""
	if n, ok := at.node.(*ast.StringNode); ok {
		written = n.Value
	}
	for suffix, unit := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if digits, ok := strings.CutSuffix(written, suffix); ok {
			if n, err := strconv.ParseInt(digits, 10, 32); err == nil && n > 0 && n*unit <= 64<<20 {
				*into = n * unit
				return
			}
		}
	}
	r.refuse(at, "is no size of at most 64MiB", "write such as 512KiB or 4MiB")
}
