// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"bytes"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// draftHeader names a draft in its folder.
const draftHeader = "X-Draft-Id"

// message is one mail before it is bytes.
type message struct {
	recipients recipients
	replyTo    string
	subject    string
	body       body
	messageID  string
	marker     string
	date       time.Time
	inReplyTo  string
	references []string
	// original, when set, is a mail to forward.
	original []byte
	// draft, when set, names the draft that this is; a draft keeps its Bcc.
	draft string
}

// build writes the mail (RFC 5322, RFC 2045). Every field of it was checked before; the attachments are loaded.
func (a *Account) build(m message) ([]byte, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	from := a.from
	msg.FromMailAddress(&from)
	// A mail to Cc or Bcc alone needs no To (RFC 5322 section 3.6).
	if len(m.recipients.to) > 0 {
		msg.ToMailAddress(pointers(m.recipients.to)...)
	}
	if len(m.recipients.cc) > 0 {
		msg.CcMailAddress(pointers(m.recipients.cc)...)
	}
	if m.replyTo != "" {
		msg.SetAddrHeaderFromMailAddress(gomail.HeaderReplyTo, &netmail.Address{Address: m.replyTo})
	}
	msg.SetGenHeader(gomail.HeaderSubject, m.subject)
	msg.SetMessageIDWithValue(strings.Trim(m.messageID, "<>"))
	msg.SetDateWithValue(m.date)
	if m.inReplyTo != "" {
		msg.SetGenHeaderPreformatted(gomail.HeaderInReplyTo, m.inReplyTo)
	}
	if len(m.references) > 0 {
		msg.SetGenHeaderPreformatted(gomail.HeaderReferences, strings.Join(m.references, "\r\n "))
	}
	if a.options.OperationHeader != "" {
		msg.SetGenHeaderPreformatted(gomail.Header(a.options.OperationHeader), m.marker)
	}
	if m.draft != "" {
		msg.SetGenHeaderPreformatted(draftHeader, m.draft)
		if len(m.recipients.bcc) > 0 {
			msg.SetGenHeaderPreformatted("Bcc", addressList(m.recipients.bcc))
		}
	}
	m.body.into(msg)
	if m.original != nil {
		attachOriginal(msg, m.original)
	}
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("writing the mail: %w", err)
	}
	raw := b.Bytes()
	if int64(len(raw)) > a.options.MaxSize {
		return nil, fmt.Errorf("the mail has %d bytes and the account takes %d", len(raw), a.options.MaxSize)
	}
	return raw, nil
}

func (t body) into(msg *gomail.Msg) {
	switch {
	case t.Text != "" && t.HTML != "":
		msg.SetBodyString(gomail.TypeTextPlain, t.Text)
		msg.AddAlternativeString(gomail.TypeTextHTML, t.HTML)
	case t.HTML != "":
		msg.SetBodyString(gomail.TypeTextHTML, t.HTML)
	default:
		msg.SetBodyString(gomail.TypeTextPlain, t.Text)
	}
	for _, a := range t.Attachments {
		msg.AttachReadSeeker(a.Name, bytes.NewReader(a.bytes), gomail.WithFileContentType(gomail.ContentType(a.Type)))
	}
}

// attachOriginal puts the mail in whole: as message/rfc822, which may not be encoded (RFC 2046 section 5.2.1), where its bytes travel as
// they are, and as a file otherwise.
func attachOriginal(msg *gomail.Msg, raw []byte) {
	kind, encoding := gomail.ContentType("message/rfc822"), gomail.NoEncoding
	if !travels(raw) {
		kind, encoding = "application/octet-stream", gomail.EncodingB64
	}
	msg.AttachReadSeeker("original.eml", bytes.NewReader(raw), gomail.WithFileContentType(kind), gomail.WithFileEncoding(encoding))
}

// travels reports whether text passes every server unencoded: 7 bits, lines of at most 998 octets (RFC 5321 section 4.5.3.1.6).
func travels(raw []byte) bool {
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > 998 || bytes.ContainsAny(line, "\r\x00") {
			return false
		}
		for _, c := range line {
			if c >= 0x80 {
				return false
			}
		}
	}
	return true
}

func pointers(list []netmail.Address) []*netmail.Address {
	out := make([]*netmail.Address, 0, len(list))
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

func addressList(list []netmail.Address) string {
	texts := make([]string, 0, len(list))
	for _, address := range list {
		texts = append(texts, address.String())
	}
	return strings.Join(texts, ",\r\n ")
}
