// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// Kind says what a notice is about.
type Kind string

const (
	// Approval: somebody must consent to an operation before it is sent.
	Approval Kind = "approval"
	// Unresolved: nobody knows what became of an operation, and no look-up will
	// settle it: there is none, or they have ended, or they found too many.
	Unresolved Kind = "unresolved"
)

// Notice is what a webhook is told. JSON names are fixed.
type Notice struct {
	// ID tells a repeat of this notice from another one.
	ID        string           `json:"id"`
	Kind      Kind             `json:"event"`
	Operation deed.OperationID `json:"operation_id"`
	Tenant    deed.Tenant      `json:"tenant"`
	Tool      deed.Tool        `json:"tool"`
	Actor     deed.Actor       `json:"actor"`
	At        time.Time        `json:"at"`
	// Since is when the operation began to be as it is.
	Since time.Time `json:"since"`
	// ExpiresAt is when an approval lapses.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// FencedSince is from when on the ledger has lost what was done, while a fence
	// stands: what asks for approval may have been done since.
	FencedSince time.Time `json:"fenced_since,omitzero"`
	// Held is the money that is reserved for it, with its currency.
	Held string `json:"held,omitempty"`
	// Console is where a person looks and decides; a GET of it changes nothing.
	Console string `json:"console_url,omitempty"`
	// Search finds what the operation planted at the provider.
	Search string `json:"search_url,omitempty"`
}

// sentence says it in one line for people.
func (n Notice) sentence() string {
	var b strings.Builder
	switch n.Kind {
	case Approval:
		fmt.Fprintf(&b, "%s asked by %s waits for approval", n.Tool, n.Actor)
		if !n.ExpiresAt.IsZero() {
			fmt.Fprintf(&b, " until %s", n.ExpiresAt.UTC().Format(time.RFC3339))
		}
	default:
		fmt.Fprintf(&b, "%s of %s is uncertain since %s and no look-up settles it: a person must find out", n.Tool, n.Actor, n.Since.UTC().Format(time.RFC3339))
	}
	if !n.FencedSince.IsZero() {
		fmt.Fprintf(&b, "; a fence stands: it may have been done since %s, look at the provider first", n.FencedSince.UTC().Format(time.RFC3339))
	}
	if n.Held != "" {
		fmt.Fprintf(&b, "; %s held", n.Held)
	}
	fmt.Fprintf(&b, " [%s]", n.Operation)
	return b.String()
}

// body writes the notice in a hook's format.
func (n Notice) body(format Format) ([]byte, error) {
	if format != FormatSlack {
		return json.Marshal(n)
	}
	text := slackText(n.sentence())
	for _, link := range []struct{ url, words string }{{n.Console, "look and decide"}, {n.Search, "search at the provider"}} {
		if link.url != "" {
			text += " <" + slackText(link.url) + "|" + link.words + ">"
		}
	}
	return json.Marshal(map[string]string{"text": text})
}

// slackText escapes the three signs that control Slack's markup
// (https://api.slack.com/reference/surfaces/formatting#escaping), and the line
// breaks that could fake a message of somebody else.
func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ", "|", "/").Replace(text)
}
