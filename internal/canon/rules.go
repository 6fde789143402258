// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import "encoding/json"

// DefaultMaxBytes is the size limit of arguments when Rules.MaxBytes is zero.
const DefaultMaxBytes int64 = 1 << 20

// Rules is the declarative fingerprint block of one tool. The zero value makes
// every argument part of the effect. Fields that hold pointers are JSON
// pointers (RFC 6901) with "*" as a whole segment for every child.
type Rules struct {
	// Include lists what belongs to the effect. Empty means everything. When
	// set, an argument in neither Include nor Exclude refuses the call.
	// Picked values keep their path; a scalar found where Include names only
	// deeper members stays part of the fingerprint.
	Include []string `json:"include,omitempty"`
	// Exclude lists volatile arguments, their presence included.
	Exclude []string `json:"exclude,omitempty"`
	// Require lists fields that must be present and not null. Below "*" the
	// rule holds for each child; an empty container has none.
	Require []string `json:"require,omitempty"`
	// Defaults maps a member to the value the tool assumes when it is absent.
	// The containing object must exist. A member counts as absent also when
	// NullIsAbsent or EmptyIsAbsent says so for the same pointer.
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
	// NullIsAbsent lists members whose null means the same as leaving them
	// out. Array elements are positions and never removed by this rule.
	NullIsAbsent []string `json:"null_is_absent,omitempty"`
	// EmptyIsAbsent does the same for "", [] and {}.
	EmptyIsAbsent []string `json:"empty_is_absent,omitempty"`
	// Normalize maps a place to normalisers, applied in order: decimal,
	// email_domain, url, instant, lower, upper, trim, collapse_space,
	// newlines, uuid, nfc, digest. Null is left alone; any other value that a
	// normaliser cannot read refuses the call.
	Normalize map[string][]string `json:"normalize,omitempty"`
	// Unordered maps an array to "set" (order and repetition do not matter)
	// or "multiset" (order does not matter).
	Unordered map[string]string `json:"unordered,omitempty"`
	// Numbers is exact (the meaning of ""), interop or ieee754.
	Numbers string `json:"numbers,omitempty"`
	// Unlisted is error (the meaning of "") or ignore, which leaves arguments
	// outside Include out of the fingerprint.
	Unlisted string `json:"unlisted,omitempty"`
	// MaxBytes limits the raw arguments. Zero means DefaultMaxBytes.
	MaxBytes int64 `json:"max_bytes,omitempty"`
}

// Options carries what the standard library does not offer. The zero value is
// complete unless a rule uses nfc.
type Options struct {
	// NFC returns the Unicode Normalization Form C of valid UTF-8 text (UAX
	// 15). It must be deterministic and safe for concurrent use.
	NFC func(text string) string
}

type numberMode uint8

const (
	numbersExact numberMode = iota
	numbersInterop
	numbersIEEE754
)
