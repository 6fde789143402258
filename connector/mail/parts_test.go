// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"strings"
	"testing"
)

func decodeHeader(text string) (string, error) { return new(mime.WordDecoder).DecodeHeader(text) }

// parts are the decoded leaves of a body by their media type.
func parts(t *testing.T, contentType string, body io.Reader) map[string][]byte {
	t.Helper()
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	if !strings.HasPrefix(kind, "multipart/") {
		raw, err := io.ReadAll(quotedprintable.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		out[kind] = raw
		return out
	}
	reader := multipart.NewReader(body, parameters["boundary"])
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		inner, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(inner, "multipart/") {
			for kind, raw := range parts(t, part.Header.Get("Content-Type"), part) {
				out[kind] = raw
			}
			continue
		}
		var decoded io.Reader = part
		switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
		case "quoted-printable":
			decoded = quotedprintable.NewReader(part)
		case "base64":
			decoded = base64.NewDecoder(base64.StdEncoding, part)
		}
		raw, err := io.ReadAll(decoded)
		if err != nil {
			t.Fatal(err)
		}
		out[inner] = raw
	}
}

// digestOf is the revision of a mail that a cabinet keeps.
func digestOf(raw string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(raw, "\n", "\r\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
