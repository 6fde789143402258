// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail/internal/smtp"
	"github.com/deed-run/deed/outcome"
)

// retryAfter is when a temporary refusal may be tried again; greylisting servers want minutes.
const retryAfter = 5 * time.Minute

// stages translates the stages of a transaction into those of the shipped table.
var stages = map[smtp.Stage]outcome.Stage{
	smtp.StageConnect: outcome.StageConnect, smtp.StageGreeting: outcome.StageGreeting, smtp.StageHello: outcome.StageHello,
	smtp.StageTLS: outcome.StageTLS, smtp.StageAuth: outcome.StageAuth, smtp.StageMail: outcome.StageMail, smtp.StageRcpt: outcome.StageRecipient,
	smtp.StageData: outcome.StageData, smtp.StageText: outcome.StageData, smtp.StageDot: outcome.StageDot,
}

// classify says what a transaction was, for the mail as a whole and for each recipient.
func classify(t smtp.Transaction, system, messageID string) deed.Outcome {
	whole := outcome.SMTP(stages[t.Stage], t.Reply.Code, t.Err != nil)
	if t.Err != nil {
		whole.Message = fmt.Sprintf("%s at the stage %s: %s", t.Phase, t.Stage, errText(t.Err))
	} else {
		whole.Message = "SMTP " + shown(t.Reply) + " at the stage " + string(t.Stage)
	}
	if lacking(t.Err) && whole.Kind == deed.OutcomeUnsent {
		whole.Kind, whole.Reason, whole.Final, whole.RetryAfter = deed.OutcomeRefused, deed.ReasonRefused, true, 0
	}
	if t.Phase == smtp.NothingSent && t.Stage != smtp.StageMail && whole.Kind == deed.OutcomeRefused {
		// The server refused the account or the connection; it has not seen the mail.
		whole.Final = false
	}
	out := whole
	var items []deed.Item
	final := true
	for _, r := range t.Recipients {
		item := deed.Item{ID: r.Address, Outcome: whole.Kind}
		switch {
		case r.Reply.Negative():
			item.Outcome, item.Reason = deed.OutcomeRefused, shown(r.Reply)
			final = final && r.Reply.Permanent()
		case whole.Kind == deed.OutcomeRefused:
			item.Reason = shown(t.Reply)
			final = final && whole.Final
		}
		items = append(items, item)
	}
	if t.Stage == smtp.StageDot || t.Stage == smtp.StageRcpt && t.Err == nil && t.Reply.Code != 421 {
		out = outcome.Batch(items, final)
		out.Message = whole.Message
	}
	out.Receipt.RemoteSystem = system
	if out.Kind == deed.OutcomeSuccess {
		out.Receipt.RemoteID = messageID
	}
	if out.Kind == deed.OutcomeSuccess || out.Kind == deed.OutcomeRefused {
		out.Receipt.Items = items
	}
	if out.Kind == deed.OutcomeRefused && !out.Final {
		out.RetryAfter = retryAfter
	}
	return tell(out, t, messageID)
}

// lacking reports a fact that will be the same next time: the server does not take such a mail.
func lacking(err error) bool {
	var large *smtp.TooLarge
	return errors.Is(err, smtp.ErrLacking) || errors.As(err, &large)
}

// queued finds the name that servers give a mail in their queue. Nothing else of a positive reply is passed on.
var queued = regexp.MustCompile(`(?i)\bqueued (?:as|for delivery as)?:? ?<?([A-Za-z0-9._@-]{4,100})`)

// told is the structured part of a sending tool's result.
type told struct {
	Status    string      `json:"status"`
	MessageID string      `json:"message_id,omitempty"`
	QueueID   string      `json:"queue_id,omitempty"`
	Accepted  []string    `json:"accepted,omitempty"`
	Refused   []deed.Item `json:"refused,omitempty"`
	Stage     smtp.Stage  `json:"stage,omitempty"`
	Reply     string      `json:"reply,omitempty"`
	Note      string      `json:"note,omitempty"`
}

// tell puts the outcome into words and, where a whole answer came, into a result.
func tell(out deed.Outcome, t smtp.Transaction, messageID string) deed.Outcome {
	var refused []deed.Item
	var names []string
	var accepted []string
	for _, item := range out.Receipt.Items {
		if item.Outcome == deed.OutcomeRefused {
			refused = append(refused, item)
			names = append(names, item.ID+" ("+item.Reason+")")
		} else {
			accepted = append(accepted, item.ID)
		}
	}
	switch out.Kind {
	case deed.OutcomeSuccess:
		result := told{Status: "accepted_for_delivery", MessageID: messageID, Accepted: accepted, Refused: refused}
		if found := queued.FindStringSubmatch(t.Reply.Text); found != nil {
			result.QueueID = found[1]
		}
		text := fmt.Sprintf("Accepted for delivery by the mail server for %s, as %s. Whether it reaches them is not known.", strings.Join(accepted, ", "), messageID)
		if len(refused) > 0 {
			text += " Refused, and not sent to: " + strings.Join(names, "; ") + "."
		}
		out.Message = text
		out.Result = toolResult(text, result, false)
	case deed.OutcomeRefused:
		text := "mail_rejected: the mail server took it for nobody: " + out.Message + "."
		if len(names) > 0 && t.Stage == smtp.StageRcpt {
			text = "mail_rejected: the mail server took it for nobody: " + strings.Join(names, "; ") + "."
		}
		out.Message = text
		out.Result = toolResult(text, told{Status: "mail_rejected", Refused: refused, Stage: t.Stage, Reply: shown(t.Reply)}, true)
		out.ResultIsError = true
	case deed.OutcomeUnsent:
		out.Message = "not sent: " + out.Message
	default:
		out.Message = "the mail server may have the mail " + messageID + ": " + out.Message
	}
	return out
}

// shown is a server's reply for people, short.
func shown(r smtp.Reply) string {
	if r.Code == 0 {
		return ""
	}
	return shorten(r.String(), 200)
}

func errText(err error) string { return shorten(err.Error(), 300) }

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// refuse is the outcome of a call that was refused here, before anything was sent.
func refuse(err error) deed.Outcome {
	text := "mail_rejected: nothing was sent: " + errText(err)
	return deed.Outcome{
		Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: true, Message: text, ResultIsError: true,
		Result: toolResult(text, told{Status: "mail_rejected", Note: errText(err)}, true),
	}
}

// unsent is the outcome of a call that could not be sent for a reason that may pass.
func unsent(err error) deed.Outcome { return outcome.Lost(true, "not sent: "+errText(err)) }

// toolResult is an MCP CallToolResult.
func toolResult(text string, structured any, isError bool) []byte {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	raw, err := json.Marshal(struct {
		Content           []block `json:"content"`
		StructuredContent any     `json:"structuredContent,omitempty"`
		IsError           bool    `json:"isError,omitempty"`
	}{[]block{{"text", text}}, structured, isError})
	if err != nil {
		return nil
	}
	return raw
}
