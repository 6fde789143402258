// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package canon turns the JSON arguments of a tool call into the canonical
// bytes of their effect, and hashes them into an effect fingerprint.
//
// It implements algorithm jx1: strict parsing, the declared fingerprint rules
// of a tool, and RFC 8785 (JCS) member order, escapes and layout, with numbers
// kept exact. It works on the raw argument bytes, because a decoded
// map[string]any has already lost big integers, duplicate members and bad
// UTF-8.
//
// Start with [Compile], then [Program.Fingerprint]. [Strict], [CanonicalJSON],
// [Pick] and [Without] serve the other places that must read JSON with the
// same eyes: whole protocol messages, derived keys, business matters and the
// key argument.
//
// # The pipeline
//
// The order is part of the version:
//
//	limits, strict parse, defaults, null_is_absent and empty_is_absent,
//	exclude, require, include with the unlisted check, normalize, unordered,
//	canonical bytes of {"args": ..., "tool": ..., "v": "jx1"}
//
// With zero [Rules] every argument is part of the effect and nothing is
// guessed from a name. Every rule is a JSON pointer (RFC 6901) with one
// extension: a whole segment "*" stands for every member of an object or every
// element of an array. A member that is really called "*" cannot be addressed.
// Array indexes in a rule count after exclude has removed elements.
//
// # Numbers
//
// Two literals are the same number when their decimal values are equal: 1,
// 1.0 and 1e0, or -0 and 0. Distinct decimal values never merge, also beyond
// 2^53 and below the smallest float64. The layout is the one of ECMAScript
// Number::toString applied to the exact decimal digits, so a value that float64
// prints back unchanged has exactly the bytes of RFC 8785. Numbers "interop"
// refuses every other value; "ieee754" rounds to float64 first, which is RFC
// 8785 to the letter and merges neighbouring 64-bit identifiers. The canonical
// text of a number of nearly [MaxNumberLength] characters can be longer than
// that limit; all other canonical documents are their own canonical form.
//
// # Text
//
// Without a normaliser a string is its exact characters. The normalisers lower,
// upper and trim, and international host names, follow the Unicode tables of the
// standard library; letters that a later Unicode version assigns may then start
// to fold. Every other rule is fixed by the algorithm name alone.
//
// # What it is not
//
// It is no schema validator and does not coerce types. It holds no state, does
// no input or output, and imports the standard library only; Unicode
// normalisation (normaliser nfc) is therefore injected through [Options].
//
// # Errors
//
// Every refusal is an [*Error] with a stable code and the pointer of the place.
// Details name members and rules, never argument values, so an error may be
// logged. A refused document has no fingerprint: the call must not be sent.
package canon
