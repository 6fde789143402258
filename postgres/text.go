// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

// oddMark begins text that is not stored as it came. It is a noncharacter:
// nothing that is meant to be read begins with it.
const oddMark = "\uFDD0"

// longestIndexed is the size of text above which an index gets a digest of
// it: PostgreSQL bounds an entry of an index to about 2,700 bytes.
const longestIndexed = 400

// storedText is what a text column holds of s: PostgreSQL knows neither NUL
// nor anything that is not UTF-8.
func storedText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, oddMark) {
		return s
	}
	return oddMark + hex.EncodeToString([]byte(s))
}

// givenText is the inverse of storedText.
func givenText(s string) string {
	odd, marked := strings.CutPrefix(s, oddMark)
	if !marked {
		return s
	}
	raw, err := hex.DecodeString(odd)
	if err != nil {
		return s
	}
	return string(raw)
}

// indexedText is what an indexed column holds of s: equal texts give equal
// values, others give others. The whole text is in the record.
func indexedText(s string) string {
	s = storedText(s)
	if len(s) <= longestIndexed {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return oddMark + "sha256:" + hex.EncodeToString(sum[:])
}

// micros is what the ledger keeps of a time, nil for none.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// ledgerTime is the time as the ledger keeps it.
func ledgerTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return fromMicros(t.UnixMicro())
}
