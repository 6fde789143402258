// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"slices"
	"sort"
)

type kind uint8

const (
	kindNull kind = iota
	kindTrue
	kindFalse
	kindNumber
	kindString
	kindArray
	kindObject
)

// node is one parsed value. Members of an object are sorted by name in the
// order of RFC 8785 from the moment the object has been read, and stay so.
type node struct {
	kind kind
	// exact marks a number read from a decimal string: it is written exactly
	// whatever the numbers rule says about number literals.
	exact bool
	text  []byte // unescaped string or number literal
	kids  []member
}

// member is a member of an object, or with an empty name an element of an array.
type member struct {
	name  []byte
	value node
}

func (n *node) isContainer() bool { return n.kind == kindObject || n.kind == kindArray }

func (n *node) isEmpty() bool {
	return n.kind == kindString && len(n.text) == 0 || n.isContainer() && len(n.kids) == 0
}

// clone copies what the stages may change: the kids, never the text.
func (n *node) clone() node {
	c := *n
	c.kids = slices.Clone(n.kids)
	for i := range c.kids {
		c.kids[i].value = c.kids[i].value.clone()
	}
	return c
}

// find returns the index of the member, or where it would be inserted.
func (n *node) find(name []byte) (int, bool) {
	if len(n.kids) <= 8 {
		for i := range n.kids {
			if order := compareNames(n.kids[i].name, name); order >= 0 {
				return i, order == 0
			}
		}
		return len(n.kids), false
	}
	return sort.Find(len(n.kids), func(i int) int { return compareNames(name, n.kids[i].name) })
}

// compareNames orders valid UTF-8 by UTF-16 code units (RFC 8785 section
// 3.2.3). That is byte order, except that characters above U+FFFF, which UTF-16
// writes with surrogates, come before U+E000 to U+FFFF.
func compareNames(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		if x < y {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

// sortMembers orders the members and returns the index of a member whose name
// equals that of its predecessor, or -1.
func sortMembers(kids []member) int {
	if len(kids) <= 12 {
		for i := 1; i < len(kids); i++ {
			for j := i; j > 0; j-- {
				order := compareNames(kids[j-1].name, kids[j].name)
				if order == 0 {
					return j
				}
				if order < 0 {
					break
				}
				kids[j-1], kids[j] = kids[j], kids[j-1]
			}
		}
		return -1
	}
	slices.SortFunc(kids, func(a, b member) int { return compareNames(a.name, b.name) })
	for i := 1; i < len(kids); i++ {
		if bytes.Equal(kids[i-1].name, kids[i].name) {
			return i
		}
	}
	return -1
}
