// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/emersion/go-imap/v2"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail/internal/smtp"
)

// maxShown bounds the raw text of a mail in an answer.
const maxShown = 64 << 10

// seen is a mail as the reading tools show it.
type seen struct {
	Folder    string   `json:"folder"`
	MessageID string   `json:"message_id"`
	Revision  string   `json:"revision,omitempty"`
	From      []string `json:"from,omitempty"`
	ReplyTo   []string `json:"reply_to,omitempty"`
	To        []string `json:"to,omitempty"`
	Cc        []string `json:"cc,omitempty"`
	Date      string   `json:"date,omitempty"`
	Subject   string   `json:"subject,omitempty"`
	// Content is the body as it was sent, encoded as it is, cut at 64 KiB.
	Content string `json:"content,omitempty"`
}

func see(s stored, whole bool) seen {
	shown := seen{Folder: s.folder}
	m, err := parse(append(slices.Clone(headerOf(s.raw)), "\r\n"...))
	if err != nil {
		return shown
	}
	shown.MessageID, shown.Date = m.Header.Get("Message-Id"), m.Header.Get("Date")
	shown.Subject = decoded(m.Header.Get("Subject"))
	for field, into := range map[string]*[]string{"From": &shown.From, "Reply-To": &shown.ReplyTo, "To": &shown.To, "Cc": &shown.Cc} {
		*into, _ = addresses(m.Header, field)
	}
	if whole {
		_, body := split(s.raw)
		shown.Revision = revisionOf(s.raw)
		shown.Content = strings.ToValidUTF8(string(body[:min(len(body), maxShown)]), "")
	}
	return shown
}

func decoded(subject string) string {
	if text, err := new(mime.WordDecoder).DecodeHeader(subject); err == nil {
		return text
	}
	return subject
}

// read shows the mails with a Message-ID.
func (a *Account) read(ctx context.Context, _ smtp.Gate, arguments []byte) deed.Outcome {
	var in struct {
		MessageID string `json:"message_id"`
	}
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	if !messageIDShape.MatchString(in.MessageID) {
		return refuse(fmt.Errorf("message_id %q is no Message-ID such as <name@host>", shorten(in.MessageID, 60)))
	}
	found, err := a.fetch(ctx, a.options.Folders, "Message-ID", in.MessageID)
	if err != nil {
		return unsent(err)
	}
	mails := make([]seen, 0, len(found))
	for _, mail := range found {
		mails = append(mails, see(mail, true))
	}
	return shownMails(mails)
}

// list shows the newest mails of a folder of the account.
func (a *Account) list(ctx context.Context, _ smtp.Gate, arguments []byte) deed.Outcome {
	in := struct {
		Folder string `json:"folder"`
		Limit  int    `json:"limit"`
	}{a.options.Folders[0], 20}
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	if !slices.Contains(a.options.Folders, in.Folder) {
		return refuse(fmt.Errorf("the account reads no folder %q; it reads %s", shorten(in.Folder, 60), strings.Join(a.options.Folders, ", ")))
	}
	in.Limit = min(max(in.Limit, 1), 100)
	var mails []seen
	err := a.use(ctx, func(box *mailbox) error {
		selected, err := box.client.Select(in.Folder, &imap.SelectOptions{ReadOnly: true}).Wait()
		if err != nil || selected.NumMessages == 0 {
			return err
		}
		var set imap.SeqSet
		set.AddRange(selected.NumMessages-min(selected.NumMessages, uint32(in.Limit))+1, selected.NumMessages)
		found, err := box.load(in.Folder, set, func(stored) bool { return true }, false)
		for _, mail := range slices.Backward(found) {
			mails = append(mails, see(mail, false))
		}
		return err
	})
	if err != nil {
		return unsent(err)
	}
	return shownMails(mails)
}

func shownMails(mails []seen) deed.Outcome {
	var lines []string
	for _, m := range mails {
		lines = append(lines, fmt.Sprintf("%s from %s: %q %s %s", m.MessageID, strings.Join(m.From, ", "), m.Subject, m.Date, m.Revision))
	}
	text := fmt.Sprintf("%d mails.\n%s", len(mails), strings.Join(lines, "\n"))
	return deed.Outcome{Kind: deed.OutcomeSuccess, Message: text, Result: toolResult(text, map[string]any{"mails": mails}, false)}
}

// draftRead shows a draft with its revision.
func (a *Account) draftRead(ctx context.Context, _ smtp.Gate, arguments []byte) deed.Outcome {
	var in struct {
		Draft string `json:"draft"`
	}
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	draft, refused := a.oneDraft(ctx, in.Draft)
	if refused != nil {
		return *refused
	}
	shown := see(draft, true)
	out := drafted{Status: "kept", Draft: in.Draft, Revision: shown.Revision, From: strings.Join(shown.From, ", "), To: shown.To, Cc: shown.Cc, Subject: shown.Subject, Content: shown.Content}
	if m, err := parse(draft.raw); err == nil {
		out.Bcc, _ = addresses(m.Header, "Bcc")
	}
	text := fmt.Sprintf("Draft %s to %s: %q. Revision %s.", in.Draft, strings.Join(out.To, ", "), out.Subject, out.Revision)
	return deed.Outcome{Kind: deed.OutcomeSuccess, Message: text, Result: toolResult(text, out, false)}
}
