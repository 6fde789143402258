// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/hex"
	"time"
)

const (
	operationPrefix = "op_"
	eventPrefix     = "ev_"
	digestPrefix    = "sha256:"

	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	idDigits  = 26
)

// crockfordValue holds each digit's value plus one, 0 for other bytes.
var crockfordValue = func() (table [256]byte) {
	for i := range len(crockford) {
		table[crockford[i]] = byte(i + 1)
	}
	return table
}()

// packID returns the 16 bytes behind an id, false when the text is not the
// one that unpackID would make of them.
func packID(prefix, id string) (packed [16]byte, ok bool) {
	if len(id) != len(prefix)+idDigits || id[:len(prefix)] != prefix {
		return packed, false
	}
	var acc uint32
	bits, at := -2, 0
	for i := len(prefix); i < len(id); i++ {
		v := crockfordValue[id[i]]
		if v == 0 || i == len(prefix) && v > 8 {
			return packed, false
		}
		acc = acc<<5 | uint32(v-1)
		if bits += 5; bits >= 8 {
			bits -= 8
			packed[at] = byte(acc >> bits)
			at++
		}
	}
	return packed, true
}

// unpackID returns the text of an id: the first digit holds three bits, the
// others five.
func unpackID(prefix string, packed []byte) string {
	out := make([]byte, 0, 3+idDigits)
	out = append(out, prefix...)
	var acc uint32
	bits := 2
	for _, b := range packed {
		acc = acc<<8 | uint32(b)
		for bits += 8; bits >= 5; {
			bits -= 5
			out = append(out, crockford[acc>>bits&31])
		}
	}
	return string(out)
}

// packDigest returns the 32 bytes behind a digest, false for any other text.
func packDigest(digest string) (packed [32]byte, ok bool) {
	if len(digest) != len(digestPrefix)+64 || digest[:len(digestPrefix)] != digestPrefix {
		return packed, false
	}
	for i := range packed {
		high, low := hexValue(digest[len(digestPrefix)+2*i]), hexValue(digest[len(digestPrefix)+2*i+1])
		if high > 15 || low > 15 {
			return packed, false
		}
		packed[i] = high<<4 | low
	}
	return packed, true
}

// hexValue knows lower case only: upper case would not come back as it was.
func hexValue(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 16
}

func unpackDigest(packed []byte) string {
	out := make([]byte, len(digestPrefix)+2*len(packed))
	copy(out, digestPrefix)
	hex.Encode(out[len(digestPrefix):], packed)
	return string(out)
}

// micros is what the ledger keeps of a time; fromMicros is its inverse.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }
