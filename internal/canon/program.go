// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"unicode/utf8"
)

// Algorithm names the pipeline of this package. It is part of every preimage;
// a change of any rule needs another name.
const Algorithm = "jx1"

// Program is a compiled set of rules. It is immutable and safe for concurrent
// use.
type Program struct {
	numbers        numberMode
	maxBytes       int64
	ignoreUnlisted bool

	defaults      []defaultValue
	nullIsAbsent  []pattern
	emptyIsAbsent []pattern
	include       []pattern
	exclude       []pattern
	require       []pattern
	included      *trie
	excluded      *trie
	normalize     []normalizeRule
	unordered     []unorderedRule

	source []byte
	hash   string
}

// outputs caches memory between calls, never content.
var outputs = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// Canonical returns the canonical bytes of {"args": ..., "tool": ...,
// "v": "jx1"}, the preimage of the fingerprint. tool is the upstream and tool
// name, "upstream/name". args are the raw argument bytes without the key
// argument (see [Without]); errors are [*Error] and mean that the call must
// not be sent.
func (p *Program) Canonical(tool string, args []byte) ([]byte, error) {
	out, e := p.appendCanonical(nil, tool, args)
	if e != nil {
		return nil, e
	}
	return out, nil
}

// Fingerprint returns "sha256:" and the lower-case hexadecimal SHA-256 of the
// canonical bytes. Errors are those of [Program.Canonical].
func (p *Program) Fingerprint(tool string, args []byte) (string, error) {
	buffer := outputs.Get().(*[]byte)
	out, e := p.appendCanonical((*buffer)[:0], tool, args)
	if e != nil {
		outputs.Put(buffer)
		return "", e
	}
	fingerprint := digest(out)
	if cap(out) <= 64<<10 {
		*buffer = out
	}
	outputs.Put(buffer)
	return fingerprint, nil
}

// Pick returns the canonical bytes of one value after the rules have been
// applied: defaults filled in, values normalised, excluded fields gone. Derived
// keys take their parts from here, because a part that merely is spelled
// differently would run an effect twice. found is false when nothing is there.
func (p *Program) Pick(args []byte, pointer string) (canonical []byte, found bool, err error) {
	at, e := singlePointer(pointer)
	if e != nil {
		return nil, false, e
	}
	w := newParser()
	defer w.release()
	root, e := p.effect(w, args)
	if e != nil {
		return nil, false, e
	}
	return pickFrom(&root, at, p.numbers)
}

// Fact is Pick, except that what the rules leave out of the effect is read from
// the raw arguments, and a null counts as missing: the value of a part of a
// derived key, or of a matter.
func (p *Program) Fact(args []byte, pointer string) (canonical []byte, found bool, err error) {
	canonical, found, err = p.Pick(args, pointer)
	if err == nil && !found {
		canonical, found, err = Pick(args, pointer)
	}
	return canonical, found && string(canonical) != "null", err
}

func (p *Program) appendCanonical(dst []byte, tool string, args []byte) ([]byte, *Error) {
	if !utf8.ValidString(tool) {
		return nil, &Error{Code: CodeInvalidUTF8, Detail: "the tool name is not UTF-8: use the name the upstream lists"}
	}
	w := newParser()
	defer w.release()
	root, e := p.effect(w, args)
	if e != nil {
		return nil, e
	}
	dst = append(dst, `{"args":`...)
	if dst, e = appendNode(dst, &root, p.numbers); e != nil {
		return nil, e
	}
	dst = append(dst, `,"tool":`...)
	dst = appendText(dst, []byte(tool))
	return append(dst, `,"v":"`+Algorithm+`"}`...), nil
}

// effect runs the pipeline up to the canonical layout. The tree lives in w.
func (p *Program) effect(w *parser, args []byte) (node, *Error) {
	root, e := w.document(args, p.maxBytes)
	if e != nil {
		return root, e
	}
	if root.kind != kindObject {
		return root, &Error{Code: CodeNotObject, Detail: "arguments must be a JSON object: send an empty object when there are none"}
	}
	if p.included != nil {
		if e := checkCase(&root); e != nil {
			return root, e
		}
	}
	for i := range p.defaults {
		p.defaults[i].fill(&root, p.defaults[i].at.segments)
	}
	for i := range p.nullIsAbsent {
		dropMembers(&root, p.nullIsAbsent[i].segments, func(n *node) bool { return n.kind == kindNull })
	}
	for i := range p.emptyIsAbsent {
		dropMembers(&root, p.emptyIsAbsent[i].segments, (*node).isEmpty)
	}
	for i := range p.exclude {
		remove(&root, p.exclude[i].segments)
	}
	for i := range p.require {
		if e := require(&root, p.require[i].segments); e != nil {
			return root, e
		}
	}
	if p.included != nil {
		if e := p.keepIncluded(&root, []*trie{p.included}, p.excluded.start()); e != nil {
			return root, e
		}
	}
	for i := range p.normalize {
		if e := p.normalize[i].apply(&root, p.normalize[i].at.segments); e != nil {
			return root, e
		}
	}
	for i := range p.unordered {
		if e := p.unordered[i].apply(&root, p.unordered[i].at.segments, p.numbers); e != nil {
			return root, e
		}
	}
	return root, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	var text [71]byte
	copy(text[:], "sha256:")
	hex.Encode(text[7:], sum[:])
	return string(text[:])
}
