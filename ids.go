// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"time"
)

// Tenant is the outermost scope of every record: nothing crosses it.
type Tenant string

// Actor is the authenticated agent, worker or person behind a call.
type Actor string

// Tool names one capability as "upstream/name".
type Tool string

// Upstream returns the part before the first slash, or "" if there is none.
func (t Tool) Upstream() string {
	upstream, _, found := strings.Cut(string(t), "/")
	if !found {
		return ""
	}
	return upstream
}

// Name returns the tool's own name, without its upstream.
func (t Tool) Name() string {
	_, name, found := strings.Cut(string(t), "/")
	if !found {
		return string(t)
	}
	return name
}

// OperationID is "op_" and 26 Crockford base32 characters, of which the first
// ten grow with time, so that ids sort by age.
type OperationID string

// EventID is "ev_" and 26 Crockford base32 characters, sorting by age like
// an OperationID.
type EventID string

// Fingerprint is "sha256:" and the hex digest over the canonical effect: the
// fields of tool and arguments that make two calls the same effect.
type Fingerprint string

// Matter is the canonical JSON list of the values that name the business
// subject of an effect, such as ["order-1042"]. It is coarser than the
// fingerprint. Empty means that the effect has no declared matter.
type Matter string

// Digest is "sha256:" and hex over bytes: of a payload, of a tool definition,
// of a set of rules.
type Digest string

// crockford is the base32 alphabet without I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newID returns prefix and 26 characters: 48 bits of milliseconds and 80 of
// randomness, in Crockford's base32.
func newID(prefix string, now time.Time, random io.Reader) string {
	var raw [16]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		raw[i] = byte(ms >> (40 - 8*i))
	}
	mustRead(random, raw[6:])
	out := make([]byte, 0, len(prefix)+26)
	out = append(out, prefix...)
	// 128 bits in 26 digits of 5: the first digit holds the top 3.
	var acc uint32
	bits := 2
	for _, b := range raw {
		acc = acc<<8 | uint32(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out = append(out, crockford[acc>>bits&31])
		}
	}
	return string(out)
}

func newOperationID(now time.Time, random io.Reader) OperationID {
	return OperationID(newID("op_", now, random))
}

func newEventID(now time.Time, random io.Reader) EventID {
	return EventID(newID("ev_", now, random))
}

// newNonce returns 16 random bytes in base32.
func newNonce(random io.Reader) string {
	var raw [16]byte
	mustRead(random, raw[:])
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	out := make([]byte, 0, 26)
	var acc uint32
	bits := 0
	for _, b := range raw {
		acc = acc<<8 | uint32(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out = append(out, digits[acc>>bits&31])
		}
	}
	return string(out)
}

// mustRead fills buf. The system's source does not fail (crypto/rand), and an
// injected one that does leaves no identity that could be trusted.
func mustRead(random io.Reader, buf []byte) {
	if _, err := io.ReadFull(random, buf); err != nil {
		panic("deed: the source of randomness failed: " + err.Error())
	}
}

var systemRandom io.Reader = rand.Reader

// digestOf names bytes by their SHA-256; nothing has the empty digest.
func digestOf(data []byte) Digest {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}
