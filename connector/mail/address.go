// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// envelopeAddress is an address as it stands in a transaction.
type envelopeAddress struct {
	// text is local@domain with the domain in ASCII.
	text, local, domain string
	// utf8: the local part has letters outside ASCII, which only SMTPUTF8 carries.
	utf8 bool
}

// parseAddress reads a bare address, without a name. Quoted local parts, address literals and everything that could end a command or a
// header field are refused.
func parseAddress(text string) (envelopeAddress, error) {
	none := envelopeAddress{}
	if wrong := headerText(text); wrong != "" {
		return none, fmt.Errorf("address %q %s", text, wrong)
	}
	local, domain, found := cutLast(text, "@")
	switch {
	case !found || local == "" || domain == "":
		return none, fmt.Errorf("%q is no address; write it as name@domain", text)
	case strings.ContainsAny(text, " <>()[]\\,;:\"") || strings.Contains(local, "@"):
		return none, fmt.Errorf("address %q has a character that is not taken in addresses; write it as name@domain, without a name or brackets", text)
	case len(local) > 64 || len(text) > 254:
		return none, fmt.Errorf("address %q is too long (RFC 5321 section 4.5.3.1)", text)
	case strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, ".."):
		return none, fmt.Errorf("address %q has a dot in a wrong place", text)
	}
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || !hostName(ascii) {
		return none, fmt.Errorf("address %q has no domain after the @", text)
	}
	return envelopeAddress{text: local + "@" + ascii, local: local, domain: ascii, utf8: !isASCII(local)}, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// recipients are the addresses of one mail by header field, in order, each at most once in the envelope.
type recipients struct {
	to, cc, bcc []netmail.Address
	envelope    []string
	utf8        bool
}

func (r *recipients) add(field string, into *[]netmail.Address, list []string, seen map[string]bool) error {
	for i, text := range list {
		address, err := parseAddress(text)
		if err != nil {
			return fmt.Errorf("%s, number %d: %w", field, i+1, err)
		}
		*into = append(*into, netmail.Address{Address: address.text})
		r.utf8 = r.utf8 || address.utf8
		// The domain is compared without case, the local part is the receiver's to compare.
		key := address.local + "@" + strings.ToLower(address.domain)
		if !seen[key] {
			seen[key] = true
			r.envelope = append(r.envelope, address.text)
		}
	}
	return nil
}

// gather reads the recipients of a mail.
func gather(to, cc, bcc []string, most int) (recipients, error) {
	var r recipients
	seen := map[string]bool{}
	for _, field := range []struct {
		name string
		into *[]netmail.Address
		list []string
	}{{"to", &r.to, to}, {"cc", &r.cc, cc}, {"bcc", &r.bcc, bcc}} {
		if err := r.add(field.name, field.into, field.list, seen); err != nil {
			return r, err
		}
	}
	if len(r.envelope) == 0 {
		return r, errors.New("the mail has no recipients")
	}
	if len(r.envelope) > most {
		return r, fmt.Errorf("the mail has %d recipients and the account takes %d", len(r.envelope), most)
	}
	return r, nil
}

// headerText says what keeps a text from standing in a header field, "" if nothing does.
func headerText(text string) string {
	if !utf8.ValidString(text) {
		return "is not UTF-8"
	}
	for _, c := range text {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u2028' || c == '\u2029' {
			return "has a control character or a line break, which would begin another header field"
		}
	}
	return ""
}

func isASCII(text string) bool {
	for _, c := range []byte(text) {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// hostName reports whether a text is a host name in ASCII (RFC 1123), which is also the right side of a Message-ID.
func hostName(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// fieldName admits X- fields only, so that no option can shadow a field that the mail is made of.
func fieldName(text string) bool {
	if len(text) < 3 || len(text) > 60 || !strings.EqualFold(text[:2], "X-") {
		return false
	}
	for _, c := range []byte(text) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return !strings.EqualFold(text, draftHeader)
}
