// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// verifierOf is the public half of a private key, which the format of notes
// writes as PRIVATE+KEY+name+hash+base64 of the algorithm's number and the seed.
func verifierOf(private string) (string, error) {
	parts := strings.SplitN(private, "+", 5)
	if len(parts) < 5 {
		return "", errors.New("a private key has five parts")
	}
	key, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(key) != 1+ed25519.SeedSize {
		return "", errors.New("a private key ends in a number and a seed of 32 bytes")
	}
	return note.NewEd25519VerifierKey(parts[2], ed25519.NewKeyFromSeed(key[1:]).Public().(ed25519.PublicKey))
}
