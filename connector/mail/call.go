// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"errors"
	"fmt"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail/internal/smtp"
)

// Call runs one tool once, with the arguments and under the permission of the grant. A mail is submitted at most once by it, whatever
// happens; the outcome says what is known: refused and unsent mean that no server accepted the mail, unknown that one may have. ctx bounds
// the call: when it ends before the end of the mail was written nothing was sent, afterwards the outcome is unknown.
func (a *Account) Call(ctx context.Context, tool string, grant *deed.Grant, arguments []byte) deed.Outcome {
	if grant == nil {
		return unsent(errors.New("no grant was given"))
	}
	run, found := a.runs()[tool]
	if !found {
		return refuse(fmt.Errorf("the account has no tool %q", tool))
	}
	return run(ctx, grant, arguments)
}

type run func(ctx context.Context, gate smtp.Gate, arguments []byte) deed.Outcome

// runs are the tools that the account has. Everything but drafts and originals needs no IMAP.
func (a *Account) runs() map[string]run {
	all := map[string]run{toolSend: a.send}
	if a.options.IMAP != nil {
		all[toolReply], all[toolReplyAll], all[toolForward] = a.reply, a.replyAll, a.forward
		all[toolDraftCreate], all[toolDraftSend] = a.draftCreate, a.draftSend
		all[toolList], all[toolRead], all[toolDraftRead] = a.list, a.read, a.draftRead
	}
	if len(a.lookups) > 0 {
		all[toolLookup] = a.lookupTool
	}
	return all
}

func (a *Account) send(ctx context.Context, gate smtp.Gate, arguments []byte) deed.Outcome {
	var in sendArguments
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	m, err := a.compose(in)
	if err != nil {
		return refuse(err)
	}
	return a.submit(ctx, gate, m)
}

// compose makes the message of arguments that hold all of it.
func (a *Account) compose(in sendArguments) (message, error) {
	m := message{subject: in.Subject, body: in.body}
	var err error
	if m.recipients, err = gather(in.To, in.Cc, in.Bcc, a.options.MaxRecipients); err != nil {
		return m, err
	}
	if in.ReplyTo != "" {
		replyTo, err := parseAddress(in.ReplyTo)
		if err != nil {
			return m, fmt.Errorf("reply_to: %w", err)
		}
		m.replyTo = replyTo.text
	}
	return m, a.complete(&m, in.marker())
}

// complete checks what every mail has and loads its attachments.
func (a *Account) complete(m *message, marker string) error {
	if !markerShape.MatchString(marker) {
		return fmt.Errorf("no marker was planted as %s, so the mail could not be found again; the rule of this tool needs the account's planting", markerMember)
	}
	if err := checkSubject(m.subject); err != nil {
		return err
	}
	if err := m.body.check(); err != nil {
		return err
	}
	m.marker, m.messageID, m.date = marker, a.messageID(marker), a.options.Now()
	return loadAll(m.body.Attachments, a.options.Attachments, a.options.MaxSize)
}

// submit builds the mail and hands it to the server.
func (a *Account) submit(ctx context.Context, gate smtp.Gate, m message) deed.Outcome {
	raw, err := a.build(m)
	if err != nil {
		return refuse(err)
	}
	return a.transmit(ctx, gate, raw, m.recipients, m.messageID)
}

func (a *Account) transmit(ctx context.Context, gate smtp.Gate, raw []byte, to recipients, messageID string) deed.Outcome {
	t := a.server.Submit(ctx, smtp.Envelope{
		From: a.sender.text, To: to.envelope, Text: raw, UTF8: to.utf8 || a.sender.utf8 || !isASCII(string(headerOf(raw))),
	}, gate)
	return classify(t, "smtp://"+a.server.Address, messageID)
}
