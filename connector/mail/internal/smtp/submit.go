// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package smtp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Submit hands the envelope to the server once. Recipients that are refused do not keep the others from getting the mail. When ctx ends, so
// does the transaction, with what is known of it. Submit never repeats anything.
func (s Server) Submit(ctx context.Context, envelope Envelope, gate Gate) Transaction {
	t := Transaction{Phase: NothingSent, Stage: StageConnect}
	for _, address := range envelope.To {
		t.Recipients = append(t.Recipients, Recipient{Address: address})
	}
	text := wireText(envelope.Text)
	c, f := s.open(ctx)
	defer c.close()
	if f != nil {
		t.Stage, t.Reply, t.Err = f.stage, f.reply, f.err
		return t
	}
	t.Stage = StageMail
	parameters, err := c.parameters(envelope, text)
	if err == nil {
		err = gate.MaySend()
	}
	if err != nil {
		c.quit()
		t.Err = err
		return t
	}
	t.Phase = BeforeDot
	c.transact(&t, envelope, parameters, text, gate)
	return t
}

// parameters are those of MAIL, or an error when the server lacks what the mail needs.
func (c *session) parameters(envelope Envelope, text []byte) (string, error) {
	var parameters string
	_, utf8 := c.offers["SMTPUTF8"]
	_, eight := c.offers["8BITMIME"]
	switch {
	case envelope.UTF8 && !(utf8 && eight):
		return "", fmt.Errorf("%w SMTPUTF8 (RFC 6531), and an address or a header field has letters outside ASCII", ErrLacking)
	case envelope.UTF8:
		parameters = " BODY=8BITMIME SMTPUTF8"
	case !ascii(text) && !eight:
		return "", fmt.Errorf("%w 8BITMIME (RFC 6152), and the mail has 8-bit text", ErrLacking)
	case !ascii(text):
		parameters = " BODY=8BITMIME"
	}
	if _, offered := c.offers["SIZE"]; offered {
		if limit := c.limit(); limit > 0 && int64(len(text)) > limit {
			return "", &TooLarge{Size: int64(len(text)), Limit: limit}
		}
		parameters += fmt.Sprintf(" SIZE=%d", len(text))
	}
	return parameters, nil
}

// ErrLacking: the mail needs an extension that the server lacks. Nothing was sent, and nothing of it ever will be to this server.
var ErrLacking = errors.New("the server does not offer")

// TooLarge says that the server takes no mail of that size.
type TooLarge struct{ Size, Limit int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the mail has %d bytes and the server takes %d", e.Size, e.Limit)
}

// transact goes through MAIL, RCPT, DATA, the text and the dot (RFC 5321 section 3.3), and leaves in t where it ended.
func (c *session) transact(t *Transaction, envelope Envelope, parameters string, text []byte, gate Gate) {
	var err error
	if t.Reply, _, err = c.command("MAIL FROM:<" + envelope.From + ">" + parameters); err != nil || !t.Reply.Positive() {
		c.leave(t, err)
		return
	}
	t.Stage = StageRcpt
	for i := range t.Recipients {
		reply, _, err := c.command("RCPT TO:<" + t.Recipients[i].Address + ">")
		t.Recipients[i].Reply, t.Reply = reply, reply
		// After a 421 the server closes: nobody gets the mail (RFC 5321 section 3.8).
		if err != nil || !reply.Positive() && !reply.Negative() || reply.Code == 421 {
			c.leave(t, err)
			return
		}
	}
	if len(t.Accepted()) == 0 {
		c.quit()
		return
	}
	t.Stage = StageData
	if t.Reply, _, err = c.command("DATA"); err != nil || t.Reply.Code != 354 {
		c.leave(t, err)
		return
	}
	t.Stage, t.Reply = StageText, Reply{}
	if t.Err = c.write(text, gate.TimeToSend()); t.Err != nil {
		// A server that has had enough says so before it closes.
		if reply, err := c.reply(time.Second); err == nil && reply.Negative() {
			t.Reply, t.Err = reply, nil
		}
		return
	}
	if t.Err = gate.MaySend(); t.Err != nil {
		return
	}
	if c.read.Buffered() > 0 {
		// The server spoke out of turn. A refusal is one; anything else must not be taken for the answer to the dot.
		t.Reply, t.Err = c.reply(time.Second)
		t.Err = unexpected(t.Reply, t.Err)
		return
	}
	// A write that fails may have left its bytes with the server all the same.
	t.Stage, t.Phase = StageDot, AfterDot
	if t.Err = c.write([]byte(".\r\n"), max(time.Millisecond, gate.TimeToSend())); t.Err != nil {
		return
	}
	t.Reply, t.Err = c.reply(c.server.dotTimeout())
	if t.Err == nil && !t.Reply.Positive() && !t.Reply.Negative() {
		t.Err = unexpected(t.Reply, nil)
	}
	if t.Err == nil {
		c.quit()
	}
}

// leave ends a transaction before its dot.
func (c *session) leave(t *Transaction, err error) {
	t.Err = unexpected(t.Reply, err)
	if t.Err == nil {
		c.quit()
	}
}

// wireText is the text as it travels: lines end with CRLF and a dot at the beginning of one is doubled (RFC 5321 section 4.5.2). A CR or LF
// that stands alone becomes a whole line end, so that no server can see the end of the text before it.
func wireText(text []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(text) + len(text)/32 + 2)
	begins := true
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\r' || ch == '\n':
			if ch == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			b.WriteString("\r\n")
			begins = true
		default:
			if begins && ch == '.' {
				b.WriteByte('.')
			}
			b.WriteByte(ch)
			begins = false
		}
	}
	if !begins || len(text) == 0 {
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
