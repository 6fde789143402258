// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import "time"

// bound is the value of a parameter, in the form in which it was given.
type bound struct {
	kind   boundKind
	number int64
	text   string
}

type boundKind byte

// Values of the kind boundOther are not compared.
const (
	boundOther boundKind = iota
	boundNull
	boundInteger
	boundText
	boundDigest
)

// other moves on to the next parameter and reports whether it has another value
// than v. Then v is bound to it now.
func (s *statement) other(v bound) bool {
	s.param++
	switch {
	case s.err != nil:
		return false
	case s.param > len(s.bound):
		return true
	case v.kind != boundOther && s.bound[s.param-1] == v:
		return false
	}
	s.bound[s.param-1] = v
	return true
}

// done keeps the error of a bind.
func (s *statement) done(err error) {
	if err != nil && s.param <= len(s.bound) {
		s.bound[s.param-1] = bound{}
	}
	s.keep(err)
}

func (s *statement) text(v string) {
	if s.other(bound{kind: boundText, text: v}) {
		s.done(s.BindText(s.param, v))
	}
}

func (s *statement) blob(v []byte) {
	if s.other(bound{}) {
		s.done(s.BindBlob(s.param, v))
	}
}

// optional binds text that is NULL when empty.
func (s *statement) optional(v []byte) {
	switch {
	case v == nil:
		s.null()
	case s.other(bound{}):
		s.done(s.BindRawText(s.param, v))
	}
}

func (s *statement) null() {
	if s.other(bound{kind: boundNull}) {
		s.done(s.BindNull(s.param))
	}
}

func (s *statement) integer(v int64) {
	if s.other(bound{kind: boundInteger, number: v}) {
		s.done(s.BindInt64(s.param, v))
	}
}

func (s *statement) boolean(v bool) {
	var n int64
	if v {
		n = 1
	}
	s.integer(n)
}

func (s *statement) moment(t time.Time) {
	if !t.IsZero() {
		s.integer(micros(t))
		return
	}
	s.null()
}

func (s *statement) operationID(id string) { s.id(operationPrefix, id) }
func (s *statement) eventID(id string)     { s.id(eventPrefix, id) }

func (s *statement) id(prefix, id string) {
	if packed, ok := packID(prefix, id); ok {
		s.blob(packed[:])
		return
	}
	s.text(id)
}

func (s *statement) digest(digest string) {
	if !s.other(bound{kind: boundDigest, text: digest}) {
		return
	}
	if packed, ok := packDigest(digest); ok {
		s.done(s.BindBlob(s.param, packed[:]))
		return
	}
	s.done(s.BindText(s.param, digest))
}
