// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail/internal/smtp"
)

// LookupOptions describe one way to find out whether a mail was sent. Exactly one of them is set.
type LookupOptions struct {
	// IMAP looks in these folders. They must be filled by the mail server itself, such as its own copies of what it sent: what a client
	// appended there proves nothing.
	IMAP []string
	HTTP *HTTPLookup
	// Log lists files of the mail server's own log, oldest first, in the format of Postfix.
	Log []string
}

// HTTPLookup asks a search API by GET. The defaults are those of Mailpit.
type HTTPLookup struct {
	// URL holds {message_id}, without angle brackets, or {marker}; both are escaped.
	URL string
	// Written is URL as it was configured, with ${NAME} where a secret stands: errors tell of it so. By default URL holds no secret.
	Written string
	// Header is sent along.
	Header http.Header
	// List, MessageID and ID are pointers (RFC 6901): to the list of hits in the answer, and to each hit's Message-ID and id. Count, which
	// has a default only where List has it, points to how many hits there are in all; an answer that lists fewer is incomplete.
	List, MessageID, ID, Count string
	// Show is the address of a hit for people, with {id}.
	Show string
	// Client, when set, replaces the default one. Redirects are never followed.
	Client *http.Client
}

// Match is a mail that carries a Message-ID of the account.
type Match struct {
	// Token is the marker that the mail itself carries; a match counts only when it is the one that was sought.
	Token string
	// ID is the Message-ID, as in the receipt of a mail that was answered for; where there are several matches it is where each one is.
	ID string
	// URL shows it to people; empty if nothing does.
	URL string
}

// Finding is what a look-up saw. One match means sent, several mean that the mail went out more than once. None means something only when
// the finding is complete, and only by the rules of reconciling: after send_by, the longest processing and the worst lag.
type Finding struct {
	Matches []Match
	// Complete: everything was read in which the mail would have to be, back to when it may have been sent.
	Complete bool
	// Note says what was read, or what was missing, for people.
	Note string
}

// Lookup is one way to find a mail that was sent. Find only reads; its error means that nothing was found out.
type Lookup interface {
	// Name is a short word for EstablishedBy: "imap", "http" or "log".
	Name() string
	// Find looks for the mail of the marker's operation. since is when its first attempt began; the zero time: unknown.
	Find(ctx context.Context, marker string, since time.Time) (Finding, error)
}

// Lookups are the account's look-ups in the order of its options.
func (a *Account) Lookups() []Lookup { return a.lookups }

// Find asks the account's look-ups in their order until one of them has matches, and otherwise says what the last complete one said. An
// error of one is kept only when no other found anything out.
func (a *Account) Find(ctx context.Context, marker string, since time.Time) (Finding, string, error) {
	if len(a.lookups) == 0 {
		return Finding{}, "", errors.New("the account has no look-up; a person has to find out whether the mail was sent")
	}
	var best Finding
	var by string
	var failures []error
	for _, lookup := range a.lookups {
		finding, err := lookup.Find(ctx, marker, since)
		if err != nil {
			failures = append(failures, fmt.Errorf("look-up by %s: %w", lookup.Name(), err))
			continue
		}
		if len(finding.Matches) > 0 {
			return finding, lookup.Name(), nil
		}
		if by == "" || finding.Complete && !best.Complete {
			best, by = finding, lookup.Name()
		}
	}
	if by == "" {
		return Finding{}, "", errors.Join(failures...)
	}
	// A look-up that failed might have found it.
	best.Complete = best.Complete && len(failures) == 0
	return best, by, nil
}

func (a *Account) lookup(o LookupOptions) (Lookup, error) {
	set := 0
	for _, given := range []bool{len(o.IMAP) > 0, o.HTTP != nil, len(o.Log) > 0} {
		if given {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, errors.New("give exactly one of imap, http, log")
	case o.HTTP != nil:
		return newHTTPLookup(a, *o.HTTP)
	case len(o.Log) > 0:
		return logLookup{a, o.Log}, nil
	case a.options.IMAP == nil:
		return nil, errors.New("imap needs the account's IMAP server")
	}
	return imapLookup{a, o.IMAP}, nil
}

// imapLookup searches folders by Message-ID. The answer is consistent: what the server has filed, it finds.
type imapLookup struct {
	account *Account
	folders []string
}

func (imapLookup) Name() string { return "imap" }

// Find reports the folder with the most hits: copies of one mail in several folders are one mail, two in one folder are two.
func (l imapLookup) Find(ctx context.Context, marker string, _ time.Time) (Finding, error) {
	if !markerShape.MatchString(marker) {
		return Finding{}, fmt.Errorf("marker %q is not of letters and digits", shorten(marker, 80))
	}
	id := l.account.messageID(marker)
	var most []Match
	err := l.account.use(ctx, func(m *mailbox) error {
		for _, folder := range l.folders {
			found, err := m.find(folder, "Message-ID", id, false)
			if err != nil {
				return fmt.Errorf("folder %s: %w", folder, err)
			}
			var matches []Match
			for _, mail := range found {
				matches = append(matches, Match{Token: marker, ID: fmt.Sprintf("%s;UID=%d", folder, mail.uid)})
			}
			if len(matches) > len(most) {
				most = matches
			}
		}
		return nil
	})
	if err != nil {
		return Finding{}, err
	}
	return Finding{Matches: named(most, id), Complete: true, Note: "read " + strings.Join(l.folders, ", ") + " to the end"}, nil
}

// named gives a single match the name that a receipt of its mail has.
func named(matches []Match, messageID string) []Match {
	if len(matches) == 1 {
		matches[0].ID = messageID
	}
	return matches
}

// lookupTool is the look-up as a tool, for probes of the configuration and for people.
func (a *Account) lookupTool(ctx context.Context, _ smtp.Gate, arguments []byte) deed.Outcome {
	var in struct {
		Marker string `json:"marker"`
	}
	if err := read(arguments, &in); err != nil {
		return refuse(err)
	}
	finding, by, err := a.Find(ctx, in.Marker, time.Time{})
	if err != nil {
		return unsent(err)
	}
	type match struct {
		Token string `json:"token"`
		ID    string `json:"id"`
		URL   string `json:"url,omitempty"`
	}
	matches := make([]match, 0, len(finding.Matches))
	for _, m := range finding.Matches {
		matches = append(matches, match(m))
	}
	text := fmt.Sprintf("%d mails carry this marker, by %s (%s).", len(matches), by, finding.Note)
	if len(matches) == 0 && !finding.Complete {
		text += " Not everything could be read, so that says nothing."
	}
	return deed.Outcome{Kind: deed.OutcomeSuccess, Message: text, Result: toolResult(text, map[string]any{"matches": matches, "complete": finding.Complete, "by": by}, false)}
}
