// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"errors"
	"strings"
)

// Veiled is an error with two readers. What happened is told to whoever asked; what
// names addresses behind the gateway (RFC 9457 section 5) is for the log and for the
// record of the operation, which people with rights read.
//
// Its text is both, so that an [Outcome] made of it records both. Whoever writes an
// answer for a caller passes the text through [Told].
type Veiled struct {
	// Told is what happened, without any address.
	Told string
	// Err is the whole error.
	Err error
}

// veil stands in a text between what is told and what is not.
const veil = "; behind the gateway: "

func (e *Veiled) Error() string { return e.Told + veil + e.Err.Error() }

func (e *Veiled) Unwrap() error { return e.Err }

// Told is what a caller may read of a text that was made of an error or recorded of
// one: all of it, but for what a [Veiled] error in it keeps back and what follows
// that.
func Told(text string) string {
	told, _, _ := strings.Cut(text, veil)
	return told
}

// Whole is the text of an error for whoever may read what a [Veiled] error keeps back:
// that tells the same as what is told, in full.
func Whole(err error) string {
	text := err.Error()
	if v, ok := errors.AsType[*Veiled](err); ok {
		text = strings.Replace(text, v.Error(), Whole(v.Err), 1)
	}
	return text
}
