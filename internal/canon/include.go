// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"unicode"
)

// trie holds the pointers of include or exclude by their segments.
type trie struct {
	ends  bool // a pointer ends here: the whole value is listed
	every *trie
	named map[string]*trie
}

// newTrie returns nil when there are no patterns.
func newTrie(patterns []pattern) *trie {
	if len(patterns) == 0 {
		return nil
	}
	root := &trie{}
	for _, p := range patterns {
		at := root
		for _, s := range p.segments {
			at = at.child(s)
		}
		at.ends = true
	}
	return root
}

func (t *trie) start() []*trie {
	if t == nil {
		return nil
	}
	return []*trie{t}
}

func (t *trie) child(s segment) *trie {
	if s.every {
		if t.every == nil {
			t.every = &trie{}
		}
		return t.every
	}
	if t.named == nil {
		t.named = map[string]*trie{}
	}
	next := t.named[string(s.name)]
	if next == nil {
		next = &trie{}
		t.named[string(s.name)] = next
	}
	return next
}

// advance follows one child from all current places. listed reports that a
// pointer ends at the child.
func advance(dst, places []*trie, name []byte) (next []*trie, listed bool) {
	for _, t := range places {
		if t.every != nil {
			dst = append(dst, t.every)
			listed = listed || t.every.ends
		}
		if named := t.named[string(name)]; named != nil {
			dst = append(dst, named)
			listed = listed || named.ends
		}
	}
	return dst, listed
}

// keepIncluded drops what include does not list and refuses what neither
// include nor exclude lists. Excluded values are gone already; a container that
// only held such values goes without complaint.
func (p *Program) keepIncluded(n *node, in, out []*trie) *Error {
	kept := n.kids[:0]
	var inBuffer, outBuffer [4]*trie
	for i := range n.kids {
		m := n.kids[i]
		name := m.name
		if n.kind == kindArray {
			name = appendIndex(nil, i)
		}
		next, listed := advance(inBuffer[:0], in, name)
		if listed {
			kept = append(kept, m)
			continue
		}
		nextOut, _ := advance(outBuffer[:0], out, name)
		var e *Error
		switch {
		case len(next) > 0:
			if m.value.isContainer() {
				e = p.keepIncluded(&m.value, next, nextOut)
			}
			kept = append(kept, m)
		case p.ignoreUnlisted:
			e = smuggled(n, in, name)
		case len(nextOut) > 0 && m.value.isContainer():
			e = p.keepIncluded(&m.value, nil, nextOut)
		default:
			e = &Error{Code: CodeUnlisted, Detail: "the argument is in neither include nor exclude: add it to one of them"}
		}
		if e != nil {
			return e.under(n.kind, m.name, i)
		}
	}
	clear(n.kids[len(kept):])
	n.kids = kept
	return nil
}

func appendIndex(dst []byte, i int) []byte {
	if i >= 10 {
		dst = appendIndex(dst, i/10)
	}
	return append(dst, byte('0'+i%10))
}

// smuggled refuses an ignored member that a case-insensitive receiver would
// take for a listed one: it would act on a value outside the fingerprint.
func smuggled(n *node, in []*trie, name []byte) *Error {
	if n.kind != kindObject {
		return nil
	}
	for _, t := range in {
		for listed := range t.named {
			if bytes.EqualFold([]byte(listed), name) {
				return caseConflict()
			}
		}
	}
	return nil
}

// checkCase refuses objects with names that differ only by case.
func checkCase(n *node) *Error {
	if n.kind == kindObject {
		if i := caseTwin(n.kids); i >= 0 {
			return caseConflict().under(kindObject, n.kids[i].name, 0)
		}
	}
	for i := range n.kids {
		if e := checkCase(&n.kids[i].value); e != nil {
			return e.under(n.kind, n.kids[i].name, i)
		}
	}
	return nil
}

func caseTwin(kids []member) int {
	if len(kids) <= 8 {
		for i := range kids {
			for j := range i {
				if bytes.EqualFold(kids[i].name, kids[j].name) {
					return i
				}
			}
		}
		return -1
	}
	seen := make(map[string]struct{}, len(kids))
	for i := range kids {
		folded := string(bytes.Map(foldRune, kids[i].name))
		if _, twice := seen[folded]; twice {
			return i
		}
		seen[folded] = struct{}{}
	}
	return -1
}

// foldRune maps the runes that bytes.EqualFold holds equal to one of them.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

func caseConflict() *Error {
	return &Error{Code: CodeCaseConflict, Detail: "two member names differ only by case, and receivers disagree about which one counts: send one of them"}
}
