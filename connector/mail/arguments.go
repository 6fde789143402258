// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/deed-run/deed"
)

// markerMember is where the operation's marker is planted. No schema shows it: callers cannot set it.
const markerMember = "operation_marker"

// planted is what an operation's arguments carry beside the caller's.
type planted struct {
	Marker string `json:"operation_marker"`
}

func (p planted) marker() string { return p.Marker }

// body is what people write.
type body struct {
	Text        string       `json:"text"`
	HTML        string       `json:"html"`
	Attachments []attachment `json:"attachments"`
}

type sendArguments struct {
	planted
	body
	To      []string `json:"to"`
	Cc      []string `json:"cc"`
	Bcc     []string `json:"bcc"`
	ReplyTo string   `json:"reply_to"`
	Subject string   `json:"subject"`
}

// original names a mail of the account by its Message-ID and the digest of its bytes, so that nobody can slip another one in between.
type original struct {
	MessageID string `json:"message_id"`
	Revision  string `json:"revision"`
}

type replyArguments struct {
	planted
	original
	body
}

type forwardArguments struct {
	planted
	original
	body
	To  []string `json:"to"`
	Cc  []string `json:"cc"`
	Bcc []string `json:"bcc"`
}

type draftCreateArguments struct {
	sendArguments
	ClientID string `json:"client_id"`
}

type draftSendArguments struct {
	planted
	Draft    string `json:"draft"`
	Revision string `json:"revision"`
}

// read decodes the arguments of a tool and refuses what it does not know.
func read(arguments []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("the arguments are not those of this tool: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the arguments")
	}
	return nil
}

func (t body) check() error {
	switch {
	case t.Text == "" && t.HTML == "" && len(t.Attachments) == 0:
		return errors.New("the mail has neither text nor html nor attachments")
	case !utf8.ValidString(t.Text) || !utf8.ValidString(t.HTML):
		return errors.New("the text is not UTF-8")
	case bytes.ContainsRune([]byte(t.Text+t.HTML), 0):
		return errors.New("the text holds a NUL")
	case len(t.Attachments) > 50:
		return fmt.Errorf("the mail has %d attachments and 50 are taken", len(t.Attachments))
	}
	return nil
}

// maxSubject keeps the field within one line of 998 octets (RFC 5322 section 2.1.1).
const maxSubject = 900

func checkSubject(subject string) error {
	if wrong := headerText(subject); wrong != "" {
		return fmt.Errorf("the subject %s", wrong)
	}
	if len(subject) > maxSubject {
		return fmt.Errorf("the subject has %d bytes and %d are taken", len(subject), maxSubject)
	}
	return nil
}

var (
	markerShape    = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)
	clientIDShape  = regexp.MustCompile(`^[A-Za-z0-9_.:-]{16,200}$`)
	messageIDShape = regexp.MustCompile(`^<[!-;=?-~]{1,250}>$`)
)

// messageID is the Message-ID of the operation whose marker it is.
func (a *Account) messageID(marker string) string {
	return "<" + marker + "@" + a.options.MessageIDHost + ">"
}

// Planting returns how the marker of an operation gets into the calls of a mutating tool: the rule of every one of them needs it, because
// the Message-ID is made of it. It is nil for tools that only read.
func (a *Account) Planting(tool string) *deed.Planting {
	for _, d := range a.definitions() {
		if d.Name == tool && !d.Annotations.ReadOnly {
			return &deed.Planting{Plant: plant, Strip: strip}
		}
	}
	return nil
}

func plant(arguments []byte, marks deed.Marks) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil || members == nil {
		return nil, errors.New("the arguments are no JSON object, so no marker was planted")
	}
	if _, taken := members[markerMember]; taken {
		return nil, fmt.Errorf("%s is planted by the gateway and not a caller's to set", markerMember)
	}
	if !markerShape.MatchString(marks.Marker) {
		return nil, errors.New("the marker is not of letters and digits, so none was planted")
	}
	member := fmt.Appendf(nil, `{%q:%q`, markerMember, marks.Marker)
	if len(members) > 0 {
		member = append(member, ',')
	}
	rest := bytes.TrimLeft(arguments, " \t\r\n")[1:]
	return append(member, rest...), nil
}

// strip takes the member out again that plant put first, where it still is.
func strip(planted []byte, marks deed.Marks) ([]byte, error) {
	first := regexp.MustCompile(`^\s*\{\s*"` + markerMember + `"\s*:\s*"` + regexp.QuoteMeta(marks.Marker) + `"\s*(,\s*|(\}\s*$))`)
	found := first.FindSubmatchIndex(planted)
	if found == nil {
		return planted, nil
	}
	rest := found[1]
	if found[4] >= 0 {
		rest = found[4] // it was the only member
	}
	return append([]byte("{"), planted[rest:]...), nil
}
