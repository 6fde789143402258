// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"slices"
)

// defaultValue is one compiled default.
type defaultValue struct {
	at    pattern
	value node
	// overNull and overEmpty: the rules call a null or empty member here
	// absent, so the default stands in for it too.
	overNull, overEmpty bool
}

func (d *defaultValue) fill(n *node, path []segment) {
	if len(path) > 1 {
		from, to := path[0].match(n)
		for i := from; i < to; i++ {
			d.fill(&n.kids[i].value, path[1:])
		}
		return
	}
	if n.kind != kindObject {
		return
	}
	i, present := n.find(path[0].name)
	if !present {
		n.kids = slices.Insert(n.kids, i, member{name: path[0].name, value: d.value.clone()})
		return
	}
	old := &n.kids[i].value
	if d.overNull && old.kind == kindNull || d.overEmpty && old.isEmpty() {
		*old = d.value.clone()
	}
}

// dropMembers removes the addressed members of objects for which absent holds.
// Elements of arrays stay: their positions have meaning.
func dropMembers(n *node, path []segment, absent func(*node) bool) {
	from, to := path[0].match(n)
	if len(path) > 1 {
		for i := from; i < to; i++ {
			dropMembers(&n.kids[i].value, path[1:], absent)
		}
		return
	}
	if n.kind != kindObject {
		return
	}
	for i := to - 1; i >= from; i-- {
		if absent(&n.kids[i].value) {
			if to-from > 1 {
				n.kids = slices.DeleteFunc(n.kids, func(m member) bool { return absent(&m.value) })
				return
			}
			n.kids = slices.Delete(n.kids, i, i+1)
		}
	}
}

func remove(n *node, path []segment) {
	from, to := path[0].match(n)
	if len(path) == 1 {
		n.kids = slices.Delete(n.kids, from, to)
		return
	}
	for i := from; i < to; i++ {
		remove(&n.kids[i].value, path[1:])
	}
}

func require(n *node, path []segment) *Error {
	from, to := path[0].match(n)
	if from == to && !(path[0].every && n.isContainer()) {
		e := &Error{Code: CodeRequired, Detail: "a required field is missing: send it"}
		for i := len(path) - 1; i >= 0; i-- {
			e = e.under(kindObject, path[i].name, 0)
		}
		return e
	}
	for i := from; i < to; i++ {
		child := &n.kids[i].value
		var e *Error
		if len(path) > 1 {
			e = require(child, path[1:])
		} else if child.kind == kindNull {
			e = &Error{Code: CodeRequired, Detail: "a required field is null and identifies nothing: send its value"}
		}
		if e != nil {
			return e.under(n.kind, n.kids[i].name, i)
		}
	}
	return nil
}

// unorderedRule sorts one kind of array by the canonical bytes of its elements.
type unorderedRule struct {
	at  pattern
	set bool
}

func (u *unorderedRule) apply(n *node, path []segment, mode numberMode) *Error {
	if len(path) == 0 {
		return u.sort(n, mode)
	}
	from, to := path[0].match(n)
	for i := from; i < to; i++ {
		if e := u.apply(&n.kids[i].value, path[1:], mode); e != nil {
			return e.under(n.kind, n.kids[i].name, i)
		}
	}
	return nil
}

func (u *unorderedRule) sort(n *node, mode numberMode) *Error {
	if n.kind != kindArray {
		return nil
	}
	type element struct {
		canonical []byte
		member    member
	}
	elements := make([]element, len(n.kids))
	var buffer []byte
	for i := range n.kids {
		from := len(buffer)
		var e *Error
		if buffer, e = appendNode(buffer, &n.kids[i].value, mode); e != nil {
			return e.under(kindArray, nil, i)
		}
		elements[i] = element{canonical: buffer[from:len(buffer):len(buffer)], member: n.kids[i]}
	}
	slices.SortFunc(elements, func(a, b element) int { return bytes.Compare(a.canonical, b.canonical) })
	if u.set {
		elements = slices.CompactFunc(elements, func(a, b element) bool { return bytes.Equal(a.canonical, b.canonical) })
	}
	n.kids = n.kids[:len(elements)]
	for i := range elements {
		n.kids[i] = elements[i].member
	}
	return nil
}
