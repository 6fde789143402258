// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

var _ deed.Reconciler = (*Account)(nil)

// Probe looks for the mail of an operation by its planted marker: the drafts folder for a draft, the account's look-ups for everything that
// is sent. It only reads. Without a marker, without a look-up, and when a look-up fails, the verdict is undetermined; absence is reported only
// where everything was read in which the mail would have to be, of the account that the operation went to.
func (a *Account) Probe(ctx context.Context, q deed.Inquest) (deed.Verdict, error) {
	undetermined := func(by, evidence string) deed.Verdict {
		return deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "mail-" + by, Evidence: evidence}
	}
	if !markerShape.MatchString(q.Marks.Marker) || q.Operation == nil {
		return undetermined("none", "no marker was planted, so there is nothing to look for"), nil
	}
	draft := strings.HasSuffix(string(q.Operation.Tool), "/"+toolDraftCreate)
	find := a.Find
	if draft {
		if a.options.IMAP == nil {
			return undetermined("none", "the account has no IMAP server"), nil
		}
		find = a.findDraft
	}
	finding, by, err := find(ctx, q.Marks.Marker, q.SentAt)
	if err != nil {
		return undetermined(orNone(by), errText(err)), nil
	}
	verdict := deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "mail-" + by, Evidence: finding.Note, Complete: finding.Complete}
	for _, m := range finding.Matches {
		verdict.Matches = append(verdict.Matches, deed.Match{RemoteID: m.ID, URL: m.URL, Token: m.Token, Result: a.foundResult(m, by, draft)})
	}
	switch {
	case len(verdict.Matches) > 1:
		verdict.Kind = deed.VerdictMany
	case len(verdict.Matches) == 1:
		verdict.Kind = deed.VerdictFound
	case !a.wentHere(q):
		verdict.Complete = false
		verdict.Evidence += "; the operation went to " + q.Attempt.UpstreamIdentity + ", which is not this account"
	case finding.Complete:
		verdict.Kind = deed.VerdictAbsent
	}
	return verdict, nil
}

func orNone(by string) string {
	if by == "" {
		return "none"
	}
	return by
}

// wentHere reports whether the attempt went to this account, under any of the names that it may have been given.
func (a *Account) wentHere(q deed.Inquest) bool {
	went := q.Attempt.UpstreamIdentity
	return went == a.Identity() || went == a.sender.text || q.Rule.Account != "" && went == q.Rule.Account
}

// findDraft looks for the drafts that carry the marker. A single one is named by its client id, as in the receipt of its creation.
func (a *Account) findDraft(ctx context.Context, marker string, _ time.Time) (Finding, string, error) {
	var matches []Match
	err := a.use(ctx, func(m *mailbox) error {
		found, err := m.find(a.options.Drafts, "Message-ID", a.messageID(marker), false)
		for _, draft := range found {
			id := fmt.Sprintf("%s;UID=%d", draft.folder, draft.uid)
			if header, err := parse(append(slices.Clone(headerOf(draft.raw)), "\r\n"...)); err == nil && len(found) == 1 {
				id = header.Header.Get(draftHeader)
			}
			matches = append(matches, Match{Token: marker, ID: id})
		}
		return err
	})
	return Finding{Matches: matches, Complete: err == nil, Note: "read " + a.options.Drafts + " to the end"}, "imap", err
}

func (a *Account) foundResult(m Match, by string, draft bool) []byte {
	if draft {
		text := fmt.Sprintf("The draft %s is in %s. Read it for its revision.", m.ID, a.options.Drafts)
		return toolResult(text, drafted{Status: "kept", Draft: m.ID}, false)
	}
	text := fmt.Sprintf("Accepted for delivery by the mail server, as %s; found by %s. Whether it reaches the recipients is not known.", m.ID, by)
	return toolResult(text, told{Status: "accepted_for_delivery", MessageID: m.ID, Note: "found by " + by}, false)
}
