// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"strconv"
	"strings"
)

// Code names the reason of a refusal. Codes are stable and safe to store.
type Code = string

// Codes of documents that have no canonical form.
const (
	CodeSyntax           Code = "syntax"              // not JSON (RFC 8259)
	CodeTrailingData     Code = "trailing_data"       // more than one value
	CodeBOM              Code = "bom"                 // starts with a byte order mark
	CodeInvalidUTF8      Code = "invalid_utf8"        // a string is not UTF-8
	CodeLoneSurrogate    Code = "lone_surrogate"      // an escape denotes half a character
	CodeDuplicateMember  Code = "duplicate_member"    // two members of one name, after unescaping
	CodeCaseConflict     Code = "case_conflict"       // names that differ only by case, with include
	CodeNotObject        Code = "not_object"          // arguments are not an object
	CodeTooDeep          Code = "too_deep"            // more than MaxDepth levels
	CodeTooLarge         Code = "too_large"           // more bytes than allowed
	CodeNumberTooLong    Code = "number_too_long"     // literal over MaxNumberLength
	CodeNumberOutOfRange Code = "number_out_of_range" // outside float64, or an exponent below -999999999
	CodeNumberNotFloat64 Code = "number_not_float64"  // numbers: interop, and float64 changes the value
	CodeRequired         Code = "required"            // a required field is missing or null
	CodeUnlisted         Code = "unlisted"            // neither in include nor in exclude
	CodeNormalize        Code = "normalize"           // a normaliser cannot read its value
	CodeInvalidPointer   Code = "invalid_pointer"     // a pointer given to Pick
	CodeInvalidRules     Code = "invalid_rules"       // Compile or Load refused the rules
	CodeUnknownAlgorithm Code = "unknown_algorithm"   // Load met rules of another algorithm
)

// Error is the refusal of a document or of fingerprint rules.
//
// Pointer is the RFC 6901 pointer of the place in the document, or of the rule
// concerned when Code is CodeInvalidRules. Detail says what is wrong and what
// to write instead; it never quotes argument values.
type Error struct {
	Code    Code
	Pointer string
	Detail  string
}

// Error names the place, the problem and the remedy.
func (e *Error) Error() string {
	subject := "canonical form refused"
	if e.Code == CodeInvalidRules || e.Code == CodeUnknownAlgorithm {
		subject = "fingerprint rules refused"
	}
	place := ""
	if e.Pointer != "" {
		place = " at " + strconv.Quote(e.Pointer)
	}
	return subject + place + ": " + e.Detail + " (" + e.Code + ")"
}

// maxNameInError bounds what a hostile member name adds to a pointer.
const maxNameInError = 128

// under moves the error one level down: it happened inside member m, at
// position index of its container. Pointers are built while unwinding so that
// the successful path keeps no path at all.
func (e *Error) under(container kind, name []byte, index int) *Error {
	segment := strconv.Itoa(index)
	if container == kindObject {
		segment = escapeSegment(string(name))
		if len(name) > maxNameInError {
			segment = escapeSegment(strings.ToValidUTF8(string(name[:maxNameInError]), "")) + "…"
		}
	}
	e.Pointer = "/" + segment + e.Pointer
	return e
}

func escapeSegment(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
