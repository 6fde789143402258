// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// hashDigits is how much of an HMAC is written: enough to tell keys apart,
// too little to be one.
const hashDigits = 16

// maxText bounds what anybody else chose: names of tools, remote ids.
const maxText = 128

// veil writes keys and fingerprints as the options want them.
type veil struct {
	secrecy Secrecy
	secret  []byte
}

func newVeil(opts Options) veil {
	v := veil{opts.Keys, opts.Secret}
	if v.secrecy != SecrecyOff && len(v.secret) == 0 {
		v.secret = make([]byte, 32)
		// crypto/rand.Read never returns an error.
		_, _ = rand.Read(v.secret)
	}
	return v
}

// write returns the text to be shown, "" for none. A confidential text is
// hashed where others are raw.
func (v veil) write(text string, confidential bool) string {
	switch {
	case text == "" || v.secrecy == SecrecyOff:
		return ""
	case v.secrecy == SecrecyRaw && !confidential:
		return short(text, 2*maxText)
	}
	mac := hmac.New(sha256.New, v.secret)
	mac.Write([]byte(text))
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))[:hashDigits]
}

// short cuts a text at a character boundary.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
