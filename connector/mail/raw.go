// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"
)

// revisionOf names the bytes of a mail.
func revisionOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// split parts header and body. Every line of the header keeps its end; the empty line belongs to the body.
func split(raw []byte) (header, body []byte) {
	at := 0
	for at < len(raw) {
		end := bytes.IndexByte(raw[at:], '\n')
		if end < 0 {
			return raw, nil
		}
		if len(bytes.TrimRight(raw[at:at+end+1], "\r\n")) == 0 {
			return raw[:at], raw[at:]
		}
		at += end + 1
	}
	return raw, nil
}

func headerOf(raw []byte) []byte {
	header, _ := split(raw)
	return header
}

// without returns the header less the named fields, with their folded lines.
func without(header []byte, names ...string) []byte {
	var kept []byte
	dropping := false
	for line := range bytes.SplitAfterSeq(header, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		if line[0] != ' ' && line[0] != '\t' {
			name, _, _ := bytes.Cut(line, []byte(":"))
			dropping = slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, strings.TrimSpace(string(name))) })
		}
		if !dropping {
			kept = append(kept, line...)
		}
	}
	return kept
}

func parse(raw []byte) (*netmail.Message, error) {
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the mail's header cannot be read: %w", err)
	}
	return m, nil
}

// addresses reads an address field; a missing one is empty.
func addresses(header netmail.Header, field string) ([]string, error) {
	var list []string
	for _, value := range header[field] {
		if strings.TrimSpace(value) == "" {
			continue
		}
		parsed, err := netmail.ParseAddressList(value)
		if err != nil {
			return nil, fmt.Errorf("its %s cannot be read: %w", field, err)
		}
		for _, address := range parsed {
			list = append(list, address.Address)
		}
	}
	return list, nil
}

// messageIDs are the well-formed Message-IDs of a field.
func messageIDs(header netmail.Header, field string) []string {
	var ids []string
	for _, word := range strings.FieldsFunc(header.Get(field), func(c rune) bool { return c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '\n' }) {
		if messageIDShape.MatchString(word) {
			ids = append(ids, word)
		}
	}
	return ids
}
