// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"errors"
	"fmt"
	"mime"
	netmail "net/mail"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail/internal/smtp"
)

// maxReferences bounds the thread that a reply carries along: its first mail and the latest ones.
const maxReferences = 20

func (a *Account) reply(ctx context.Context, gate smtp.Gate, arguments []byte) deed.Outcome {
	return a.answer(ctx, gate, arguments, false)
}

func (a *Account) replyAll(ctx context.Context, gate smtp.Gate, arguments []byte) deed.Outcome {
	return a.answer(ctx, gate, arguments, true)
}

// answer replies to the sender of the original, or to everybody of it.
func (a *Account) answer(ctx context.Context, gate smtp.Gate, arguments []byte, all bool) deed.Outcome {
	var in replyArguments
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	raw, refused := a.original(ctx, in.original)
	if refused != nil {
		return *refused
	}
	header, err := parse(raw)
	if err != nil {
		return refuse(err)
	}
	to, cc, err := a.answered(header.Header, all)
	if err != nil {
		return refuse(err)
	}
	m := message{subject: prefixed("Re: ", header.Header), body: in.body}
	if m.recipients, err = gather(to, cc, nil, a.options.MaxRecipients); err != nil {
		return refuse(err)
	}
	m.inReplyTo, m.references = in.MessageID, thread(header.Header, in.MessageID)
	if err := a.complete(&m, in.marker()); err != nil {
		return refuse(err)
	}
	return a.submit(ctx, gate, m)
}

// answered says who gets a reply (RFC 5322 section 3.6.3): Reply-To or From; with all, the original's other recipients get a copy. The
// account itself gets none, unless nobody else is left.
func (a *Account) answered(header netmail.Header, all bool) (to, cc []string, err error) {
	field := "From"
	if header.Get("Reply-To") != "" {
		field = "Reply-To"
	}
	if to, err = addresses(header, field); err != nil {
		return nil, nil, err
	}
	if len(to) == 0 {
		return nil, nil, errors.New("the original says nothing of who sent it")
	}
	if !all {
		return to, nil, nil
	}
	seen := map[string]bool{strings.ToLower(a.sender.text): true}
	for _, address := range to {
		seen[strings.ToLower(address)] = true
	}
	for _, field := range []string{"To", "Cc"} {
		list, err := addresses(header, field)
		if err != nil {
			return nil, nil, err
		}
		for _, address := range list {
			if key := strings.ToLower(address); !seen[key] {
				seen[key] = true
				cc = append(cc, address)
			}
		}
	}
	return to, cc, nil
}

func (a *Account) forward(ctx context.Context, gate smtp.Gate, arguments []byte) deed.Outcome {
	var in forwardArguments
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	to, err := gather(in.To, in.Cc, in.Bcc, a.options.MaxRecipients)
	if err != nil {
		return refuse(err)
	}
	raw, refused := a.original(ctx, in.original)
	if refused != nil {
		return *refused
	}
	header, err := parse(raw)
	if err != nil {
		return refuse(err)
	}
	m := message{recipients: to, subject: prefixed("Fwd: ", header.Header), body: in.body, original: withoutBcc(raw), references: thread(header.Header, in.MessageID)}
	if in.body.Text == "" && in.body.HTML == "" {
		m.body.Text = "The forwarded mail is attached."
	}
	if err := a.complete(&m, in.marker()); err != nil {
		return refuse(err)
	}
	return a.submit(ctx, gate, m)
}

// withoutBcc drops whom the original's sender had hidden: copies in a folder of sent mails still tell.
func withoutBcc(raw []byte) []byte {
	header, body := split(raw)
	return append(without(header, "Bcc", "Resent-Bcc"), body...)
}

// thread is References of an answer (RFC 5322 section 3.6.4): that of the original, or its In-Reply-To, and the original.
func thread(header netmail.Header, id string) []string {
	ids := messageIDs(header, "References")
	if len(ids) == 0 {
		if parents := messageIDs(header, "In-Reply-To"); len(parents) == 1 {
			ids = parents
		}
	}
	if len(ids) >= maxReferences {
		ids = append(ids[:1:1], ids[len(ids)-maxReferences+2:]...)
	}
	return append(ids, id)
}

// prefixed is the original's subject behind a prefix, which it gets once. Characters that cannot stand in a field are dropped.
func prefixed(prefix string, header netmail.Header) string {
	subject := header.Get("Subject")
	if decoded, err := new(mime.WordDecoder).DecodeHeader(subject); err == nil {
		subject = decoded
	}
	subject = strings.Map(func(c rune) rune {
		if headerText(string(c)) != "" {
			return -1
		}
		return c
	}, strings.ToValidUTF8(subject, ""))
	if len(subject) >= len(prefix) && strings.EqualFold(subject[:len(prefix)-1], strings.TrimSpace(prefix)) {
		prefix = ""
	}
	return shorten(prefix+subject, maxSubject-3)
}

// original fetches the mail that is named; nil bytes come with the outcome of the call.
func (a *Account) original(ctx context.Context, named original) ([]byte, *deed.Outcome) {
	if !messageIDShape.MatchString(named.MessageID) {
		return nil, ended(refuse(fmt.Errorf("message_id %q is no Message-ID such as <name@host>", shorten(named.MessageID, 60))))
	}
	found, err := a.fetch(ctx, a.options.Folders, "Message-ID", named.MessageID)
	if err != nil {
		return nil, ended(unsent(fmt.Errorf("the original could not be read: %w", err)))
	}
	for _, mail := range found {
		if revisionOf(mail.raw) == named.Revision {
			return mail.raw, nil
		}
	}
	if len(found) == 0 {
		return nil, ended(refuse(fmt.Errorf("no mail %s is in %s", named.MessageID, strings.Join(a.options.Folders, ", "))))
	}
	return nil, ended(refuse(fmt.Errorf("the mail %s does not have the revision that was named; read it again with %s and decide anew", named.MessageID, toolRead)))
}

func ended(out deed.Outcome) *deed.Outcome { return &out }
