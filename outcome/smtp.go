// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"strconv"

	"github.com/deed-run/deed"
)

// Stage is how far an SMTP dialogue (RFC 5321 section 3.3) had come when it ended.
type Stage int

// The stages in their order. Only the final dot hands the message over: everything before it is proved not accepted.
const (
	StageConnect Stage = iota
	StageGreeting
	StageHello
	StageTLS
	StageAuth
	StageMail
	StageRecipient
	// StageData is the DATA command and the text of the message, up to the dot that ends it.
	StageData
	// StageDot begins with the first byte of the final dot and ends with its reply.
	StageDot
)

var stageNames = [...]string{"connecting", "greeting", "hello", "TLS", "authentication", "sender", "recipient", "message text", "final dot"}

func (s Stage) String() string {
	if s < 0 || int(s) >= len(stageNames) {
		return "stage " + strconv.Itoa(int(s))
	}
	return stageNames[s]
}

// SMTP classifies the reply that ended a dialogue, or its loss, for the message or for one recipient of it.
//
// A 4xx or 5xx at any stage, also after the dot, is a refusal (RFC 5321 section 4.2.1: transient ones may be tried again, permanent ones
// not). A 2xx to the dot is a success: accepted for delivery, which is never "delivered". A loss before the dot, and a positive or a broken
// reply at which the client itself stopped before it, is unsent; after the dot each of them may have been accepted (RFC 1047).
func SMTP(stage Stage, code int, lost bool) deed.Outcome {
	text := "SMTP " + strconv.Itoa(code) + " at the " + stage.String()
	if lost {
		text = "the connection was lost at the " + stage.String()
	}
	switch {
	case !lost && code >= 400 && code < 600:
		return deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: code >= 500, Message: text}
	case stage >= StageDot && !lost && code >= 200 && code < 300:
		return deed.Outcome{Kind: deed.OutcomeSuccess, Message: text}
	}
	return Lost(stage >= StageConnect && stage < StageDot, text)
}
