// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Signature checks an HMAC-SHA256 over the raw body of a message.
type Signature struct {
	// Secrets are those in force; several while one replaces another.
	Secrets [][]byte
	// Header carries the digest in hex, after Prefix ("sha256=").
	Header string
	Prefix string
	// TimestampHeader, when set, carries seconds since 1970; then the digest is
	// over the timestamp, a dot, and the body, and a message older or newer
	// than Tolerance is refused, so that an old one cannot be played again.
	TimestampHeader string
	Tolerance       time.Duration
	// Now tells the time for it; nil means time.Now.
	Now func() time.Time
}

var errSignature = errors.New("signature")

// Verify is for Inbox.Verify.
func (s Signature) Verify(r *http.Request, body []byte) error {
	text, ok := strings.CutPrefix(r.Header.Get(s.Header), s.Prefix)
	given, err := hex.DecodeString(text)
	if !ok || err != nil || len(given) != sha256.Size {
		return fmt.Errorf("%w: header %s carries none", errSignature, s.Header)
	}
	signed := body
	if s.TimestampHeader != "" {
		stamp := r.Header.Get(s.TimestampHeader)
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: header %s carries no time", errSignature, s.TimestampHeader)
		}
		now := time.Now
		if s.Now != nil {
			now = s.Now
		}
		if age := now().Sub(time.Unix(seconds, 0)).Abs(); age > s.Tolerance {
			return fmt.Errorf("%w: the message is %s off", errSignature, age.Round(time.Second))
		}
		signed = append([]byte(stamp+"."), body...)
	}
	for _, secret := range s.Secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(signed)
		if len(secret) > 0 && hmac.Equal(mac.Sum(nil), given) {
			return nil
		}
	}
	return fmt.Errorf("%w: it does not fit", errSignature)
}
