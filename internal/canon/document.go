// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"encoding/json"
	"math"
	"strings"
)

// MaxMessageBytes is the greatest document that Strict reads.
const MaxMessageBytes int64 = 4 << 20

// Strict reports whether doc is one JSON value that every conforming reader
// understands in the same way: RFC 8259 without duplicate member names, invalid
// UTF-8, lone surrogates, byte order mark or trailing data, within [MaxDepth],
// [MaxNumberLength], the float64 range and [MaxMessageBytes]. The error is an
// [*Error].
func Strict(doc []byte) error {
	p := newParser()
	defer p.release()
	if _, e := p.document(doc, MaxMessageBytes); e != nil {
		return e
	}
	return nil
}

// CanonicalJSON returns the canonical form of any JSON value: RFC 8785 with
// exact numbers. It is as strict as [Strict] but sets no size limit.
func CanonicalJSON(doc []byte) ([]byte, error) {
	p := newParser()
	defer p.release()
	root, e := p.document(doc, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	out, e := appendNode(make([]byte, 0, len(doc)), &root, numbersExact)
	if e != nil {
		return nil, e
	}
	return out, nil
}

// OneOfEachCase refuses, with [CodeCaseConflict], a document in which an object has
// two members whose names differ only by case: some receivers read names in any
// case, so what such a document says depends on who reads it.
func OneOfEachCase(doc []byte) error {
	p := newParser()
	defer p.release()
	root, e := p.document(doc, math.MaxInt64)
	if e == nil {
		e = checkCase(&root)
	}
	if e != nil {
		return e
	}
	return nil
}

// Pick returns the canonical bytes of the value at an RFC 6901 pointer in the
// raw arguments, with exact numbers; the empty pointer means the whole
// document. found is false when nothing is there; a null that is there is
// found. See [Program.Pick] for a value after normalisation.
func Pick(args []byte, pointer string) (canonical []byte, found bool, err error) {
	at, e := singlePointer(pointer)
	if e != nil {
		return nil, false, e
	}
	p := newParser()
	defer p.release()
	root, e := p.document(args, math.MaxInt64)
	if e != nil {
		return nil, false, e
	}
	return pickFrom(&root, at, numbersExact)
}

func pickFrom(n *node, at pattern, mode numberMode) ([]byte, bool, error) {
	for i := range at.segments {
		from, to := at.segments[i].match(n)
		if from == to {
			return nil, false, nil
		}
		n = &n.kids[from].value
	}
	out, e := appendNode(nil, n, mode)
	if e != nil {
		e.Pointer = at.source + e.Pointer
		return nil, false, e
	}
	return out, true, nil
}

// singlePointer compiles a pointer that addresses one value.
func singlePointer(pointer string) (pattern, *Error) {
	at, problem := parsePointer(pointer)
	for _, s := range at.segments {
		if s.every {
			problem = "the pointer must address one value: write a name or an index instead of *"
		}
	}
	if problem != "" {
		return at, &Error{Code: CodeInvalidPointer, Pointer: pointer, Detail: problem}
	}
	return at, nil
}

// Without removes one member of the root object and keeps every other byte and
// the order as they were; one comma goes with the member. value holds the raw
// bytes of the removed value. When there is no such member, rest is args
// itself. The document is checked as by [Strict], without its size limit, and
// must be an object.
func Without(args []byte, name string) (rest []byte, value json.RawMessage, found bool, err error) {
	p := newParser()
	defer p.release()
	p.watched = []byte(name)
	root, e := p.document(args, math.MaxInt64)
	if e != nil {
		return nil, nil, false, e
	}
	if root.kind != kindObject {
		return nil, nil, false, &Error{Code: CodeNotObject, Detail: "arguments must be a JSON object: send an empty object when there are none"}
	}
	at := p.found
	if !at.ok {
		return args, nil, false, nil
	}
	from, to := at.previousComma, at.end
	if at.first {
		from = at.name
		if !at.last {
			to = at.next
		}
	}
	rest = make([]byte, 0, len(args)-(to-from))
	rest = append(append(rest, args[:from]...), args[to:]...)
	return rest, json.RawMessage(strings.Clone(string(args[at.value:at.end]))), true, nil
}
