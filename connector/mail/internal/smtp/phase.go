// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package smtp

import "fmt"

// Phase says how far a transaction had come when it ended.
type Phase int

const (
	// NothingSent: the server has seen neither sender nor recipients.
	NothingSent Phase = iota
	// BeforeDot: the server was told of the mail, and the end of its text was not written. RFC 5321 section 4.1.1.4: without it the server
	// must not keep the mail.
	BeforeDot
	// AfterDot: the end of the text was written, or may have been. From here on only a whole reply tells whether the server has the mail.
	AfterDot
)

// String gives the words that answers use.
func (p Phase) String() string {
	switch p {
	case NothingSent:
		return "nothing was sent"
	case BeforeDot:
		return "the mail was not finished"
	case AfterDot:
		return "the whole mail was sent"
	}
	return fmt.Sprintf("phase %d", int(p))
}

// Stage is the step of a transaction, named after what the client had said.
type Stage string

// The stages in their order.
const (
	StageConnect  Stage = "connect"
	StageGreeting Stage = "greeting"
	StageHello    Stage = "EHLO"
	StageTLS      Stage = "STARTTLS"
	StageAuth     Stage = "AUTH"
	StageMail     Stage = "MAIL"
	StageRcpt     Stage = "RCPT"
	StageData     Stage = "DATA"
	StageText     Stage = "text"
	StageDot      Stage = "dot"
)

// Recipient is one recipient with the server's answer to it, zero when the server was not asked.
type Recipient struct {
	Address string
	Reply   Reply
}

// Transaction is everything that is known of one submission.
type Transaction struct {
	Phase Phase
	// Stage is where it ended; StageDot with a 2xx reply is the whole way.
	Stage Stage
	// Reply is the server's whole reply at Stage; zero where none came.
	Reply Reply
	// Recipients are all recipients in the order of the envelope.
	Recipients []Recipient
	// Err says why it ended without a reply: a loss, a malformed reply, a server that lacks something, or a send_by that had passed.
	Err error
}

// Accepted lists the recipients that the server took.
func (t Transaction) Accepted() []Recipient {
	var taken []Recipient
	for _, r := range t.Recipients {
		if r.Reply.Positive() {
			taken = append(taken, r)
		}
	}
	return taken
}
