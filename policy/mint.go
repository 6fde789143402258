// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
)

// alphabet is the shape of a key or an identity that a provider takes.
type alphabet string

const (
	alphabetUUID4     alphabet = "uuid4"
	alphabetHex       alphabet = "hex"
	alphabetBase32Hex alphabet = "base32hex"
	alphabetDNS1123   alphabet = "dns1123"
	alphabetAlnum     alphabet = "alnum"
	alphabetASCII     alphabet = "ascii"
)

// shape is an alphabet and the greatest length.
type shape struct {
	alphabet alphabet
	max      int
}

// leastLength keeps what is minted from being met by chance.
const leastLength = 20

func (d *decoder) longest(at place, into *int) {
	n := int64(*into)
	d.count(at, 1024, &n)
	*into = int(n)
}

// checkShape refuses lengths that no key of the alphabet fits.
func (d *decoder) checkShape(at place, s shape) {
	switch {
	case s.alphabet == alphabetUUID4 && s.max < 36:
		d.refuse(d.inside(at, "max"), fmt.Sprintf("%d characters do not hold a UUID, which has 36", s.max), "write alphabet: hex or base32hex, or a greater number")
	case s.max < leastLength:
		d.refuse(d.inside(at, "max"), fmt.Sprintf("%d characters are too few to be met by nobody else", s.max), fmt.Sprintf("write %d or more", leastLength))
	}
}

// mint makes a text of the shape from 32 random bytes, the same from the same.
func (s shape) mint(random [32]byte) string {
	switch s.alphabet {
	case alphabetHex:
		return hex.EncodeToString(random[:])[:min(s.max, 40)]
	case alphabetBase32Hex, alphabetAlnum, alphabetASCII:
		return base32Hex(random)[:min(s.max, 32)]
	case alphabetDNS1123:
		// A label of DNS may not be taken for a number by old software.
		return "d" + base32Hex(random)[:min(s.max, 32)-1]
	}
	random[6] = random[6]&0x0f | 0x40
	random[8] = random[8]&0x3f | 0x80
	text := hex.EncodeToString(random[:16])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

func base32Hex(random [32]byte) string {
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:]))
}
