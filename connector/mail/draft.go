// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail/internal/smtp"
	"github.com/deed-run/deed/outcome"
)

// drafted is the structured part of a draft tool's result.
type drafted struct {
	Status   string   `json:"status"`
	Draft    string   `json:"draft"`
	Revision string   `json:"revision,omitempty"`
	From     string   `json:"from,omitempty"`
	To       []string `json:"to,omitempty"`
	Cc       []string `json:"cc,omitempty"`
	Bcc      []string `json:"bcc,omitempty"`
	Subject  string   `json:"subject,omitempty"`
	Content  string   `json:"content,omitempty"`
}

// draftCreate keeps a draft under its client id. A draft with that id that carries the same marker is this operation's own and its success;
// another one refuses it.
func (a *Account) draftCreate(ctx context.Context, gate smtp.Gate, arguments []byte) deed.Outcome {
	var in draftCreateArguments
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	if !clientIDShape.MatchString(in.ClientID) {
		return refuse(errors.New("client_id must be 16 to 200 of A-Z a-z 0-9 _ . : -"))
	}
	m, err := a.compose(in.sendArguments)
	if err != nil {
		return refuse(err)
	}
	m.draft = in.ClientID
	raw, err := a.build(m)
	if err != nil {
		return refuse(err)
	}
	out := unsent(errors.New("the drafts folder could not be reached"))
	err = a.use(ctx, func(box *mailbox) error {
		before, err := box.find(a.options.Drafts, draftHeader, in.ClientID, true)
		if err != nil {
			return err
		}
		if len(before) > 0 {
			out = a.draftThere(before, in.ClientID, m.messageID)
			return nil
		}
		if err := gate.MaySend(); err != nil {
			return err
		}
		out = a.keep(box, in.ClientID, raw)
		return nil
	})
	if err != nil {
		return unsent(err)
	}
	return out
}

func (a *Account) draftThere(before []stored, id, messageID string) deed.Outcome {
	for _, draft := range before {
		header, err := parse(draft.raw)
		if err != nil || header.Header.Get("Message-Id") != messageID {
			return refuse(fmt.Errorf("a draft %s is there already, and this operation did not make it", id))
		}
	}
	return a.draftKept(id, revisionOf(before[0].raw))
}

// keep appends the draft (RFC 3501 section 6.3.11). A tagged NO or BAD means that nothing was kept; when no whole answer comes it is unknown.
func (a *Account) keep(box *mailbox, id string, raw []byte) deed.Outcome {
	command := box.client.Append(a.options.Drafts, int64(len(raw)), &imap.AppendOptions{Flags: []imap.Flag{imap.FlagDraft, imap.FlagSeen}})
	_, writing := command.Write(raw)
	closing := command.Close()
	_, err := command.Wait()
	var no *imap.Error
	switch {
	case errors.As(err, &no) && (no.Type == imap.StatusResponseTypeNo || no.Type == imap.StatusResponseTypeBad):
		out := refuse(fmt.Errorf("the mail server kept no draft: %s", shorten(no.Text, 200)))
		out.Final, out.RetryAfter = false, retryAfter
		return out
	case err != nil:
		return outcome.Lost(false, "the draft may have been kept: "+errText(errors.Join(writing, closing, err)))
	}
	// The revision is that of the bytes as the server gives them back; without it the draft is kept all the same.
	var revision string
	if kept, err := box.find(a.options.Drafts, draftHeader, id, true); err == nil && len(kept) == 1 {
		revision = revisionOf(kept[0].raw)
	}
	return a.draftKept(id, revision)
}

func (a *Account) draftKept(id, revision string) deed.Outcome {
	text := fmt.Sprintf("Draft %s is kept in %s; nothing was sent. Revision %s.", id, a.options.Drafts, revision)
	if revision == "" {
		text = fmt.Sprintf("Draft %s is kept in %s; nothing was sent. Its revision could not be read: read it with %s.", id, a.options.Drafts, toolDraftRead)
	}
	return deed.Outcome{
		Kind: deed.OutcomeSuccess, Message: text, Result: toolResult(text, drafted{Status: "kept", Draft: id, Revision: revision}, false),
		Receipt: deed.Receipt{RemoteSystem: "imap://" + a.options.IMAP.address(), RemoteID: id},
	}
}

// draftSend sends the named revision of a draft: the bytes that were compared are those that leave, with a Message-ID of this operation and
// without Bcc.
func (a *Account) draftSend(ctx context.Context, gate smtp.Gate, arguments []byte) deed.Outcome {
	var in draftSendArguments
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	if !markerShape.MatchString(in.marker()) {
		return refuse(fmt.Errorf("no marker was planted as %s, so the mail could not be found again", markerMember))
	}
	draft, refused := a.oneDraft(ctx, in.Draft)
	if refused != nil {
		return *refused
	}
	if got := revisionOf(draft.raw); got != in.Revision {
		return refuse(fmt.Errorf("draft %s was changed since: it is at revision %s and not at %s; read it again and decide anew", in.Draft, got, shorten(in.Revision, 80)))
	}
	raw, to, err := a.finish(draft.raw, in.marker())
	if err != nil {
		return refuse(fmt.Errorf("draft %s: %w", in.Draft, err))
	}
	out := a.transmit(ctx, gate, raw, to, a.messageID(in.marker()))
	if out.Kind == deed.OutcomeSuccess {
		a.discard(ctx, in.Draft, draft)
	}
	return out
}

// oneDraft fetches the draft of that name; several are refused, because nobody can tell which is meant.
func (a *Account) oneDraft(ctx context.Context, id string) (stored, *deed.Outcome) {
	if !clientIDShape.MatchString(id) {
		return stored{}, ended(refuse(errors.New("draft must be the client_id that it was created with")))
	}
	found, err := a.fetch(ctx, []string{a.options.Drafts}, draftHeader, id)
	switch {
	case err != nil:
		return stored{}, ended(unsent(fmt.Errorf("draft %s could not be read: %w", id, err)))
	case len(found) == 0:
		return stored{}, ended(refuse(fmt.Errorf("there is no draft %s in %s: it was never kept, or it was sent or deleted", id, a.options.Drafts)))
	case len(found) > 1:
		return stored{}, ended(refuse(fmt.Errorf("%d drafts are named %s; delete all but one", len(found), id)))
	}
	return found[0], nil
}

// finish makes the mail of a draft.
func (a *Account) finish(raw []byte, marker string) ([]byte, recipients, error) {
	parsed, err := parse(raw)
	if err != nil {
		return nil, recipients{}, err
	}
	from, err := addresses(parsed.Header, "From")
	if err != nil {
		return nil, recipients{}, err
	}
	if len(from) != 1 || !strings.EqualFold(from[0], a.sender.text) {
		return nil, recipients{}, fmt.Errorf("it comes from %s, which is not the account", strings.Join(from, ", "))
	}
	var lists [3][]string
	for i, field := range []string{"To", "Cc", "Bcc"} {
		if lists[i], err = addresses(parsed.Header, field); err != nil {
			return nil, recipients{}, err
		}
	}
	to, err := gather(lists[0], lists[1], lists[2], a.options.MaxRecipients)
	if err != nil {
		return nil, recipients{}, err
	}
	header, body := split(raw)
	var out []byte
	out = fmt.Appendf(out, "Message-ID: %s\r\nDate: %s\r\n", a.messageID(marker), a.options.Now().Format(time.RFC1123Z))
	drop := []string{"Message-ID", "Date", "Bcc", draftHeader, "Return-Path", "Sender", "Resent-To", "Resent-Cc", "Resent-Bcc"}
	if name := a.options.OperationHeader; name != "" {
		out = fmt.Appendf(out, "%s: %s\r\n", name, marker)
		drop = append(drop, name)
	}
	out = append(out, without(header, drop...)...)
	return append(out, body...), to, nil
}

// discard removes a draft that was sent. Whether that works changes nothing of the outcome: the draft's own revision can be sent again only
// by another operation that names it.
func (a *Account) discard(ctx context.Context, id string, draft stored) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = a.use(ctx, func(box *mailbox) error {
		// The UID is looked up anew: it holds within one session only (RFC 3501 section 2.3.1.1).
		now, err := box.find(draft.folder, draftHeader, id, true)
		if err != nil || len(now) != 1 || !bytes.Equal(now[0].raw, draft.raw) {
			return err
		}
		if _, err := box.client.Select(draft.folder, nil).Wait(); err != nil {
			return err
		}
		set := imap.UIDSetNum(now[0].uid)
		flags := imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{imap.FlagDeleted}}
		if err := box.client.Store(set, &flags, nil).Close(); err != nil {
			return err
		}
		if box.client.Caps().Has(imap.CapUIDPlus) {
			return box.client.UIDExpunge(set).Close()
		}
		return nil
	})
}
