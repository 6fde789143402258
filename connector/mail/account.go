// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"crypto/tls"
	"errors"
	"fmt"
	netmail "net/mail"
	"time"

	"github.com/deed-run/deed/connector/mail/internal/smtp"
)

// Server is a server of the account and how to sign in to it.
type Server struct {
	Host string
	Port int
	// Security is "starttls", "tls" or "none"; empty: what the port stands for, and TLS by the protocol where it stands for nothing.
	Security string
	// Username and Password sign in; an SMTP server may take mail without.
	Username, Password string
	// Mechanism is "plain" (the default) or "login", for SMTP.
	Mechanism string
	// TLS, when set, replaces the default configuration, which trusts the system's authorities.
	TLS *tls.Config
}

// Options describe an account. Address and SMTP are required.
type Options struct {
	// Address is the sender inbox: every mail of the account comes from it.
	Address string
	// Name stands before the address in From.
	Name string
	SMTP Server
	// Hello is the name that the client gives itself, by default the domain of Address.
	Hello string
	// DotTimeout is how long the reply to the whole text is waited for, by default and at least 10 minutes (RFC 5321 section 4.5.3.2.6).
	DotTimeout time.Duration
	// IMAP, when set, serves replies, forwards, drafts and the look-up by IMAP.
	IMAP *Server
	// Folders are where originals are looked for, by default INBOX; Drafts is where drafts are kept, by default "Drafts".
	Folders []string
	Drafts  string
	// MessageIDHost is the right side of every Message-ID, by default the domain of Address.
	MessageIDHost string
	// OperationHeader, when set, is a header field that holds the marker too, such as "X-Operation".
	OperationHeader string
	// Attachments is the folder of the content store, empty for none: each file is named by the SHA-256 of its bytes in lower-case hex.
	Attachments string
	// MaxSize bounds a mail in bytes, by default 25 MiB.
	MaxSize int64
	// MaxRecipients bounds the recipients of one mail, by default 100 (RFC 5321 section 4.5.3.1.8).
	MaxRecipients int
	// Lookups find mails that were sent before; see [Account.Lookups].
	Lookups []LookupOptions
	// Now is the clock, by default time.Now.
	Now func() time.Time
}

// Account is a sender inbox with its tools. Its methods are safe for concurrent use; it keeps no connections.
type Account struct {
	options Options
	from    netmail.Address
	sender  envelopeAddress
	server  smtp.Server
	lookups []Lookup
}

// New checks the options and connects to nothing.
func New(options Options) (*Account, error) {
	sender, err := parseAddress(options.Address)
	if err != nil {
		return nil, fmt.Errorf("the account's address: %w", err)
	}
	if options.SMTP.Host == "" {
		return nil, errors.New("the account has no SMTP server, so nothing can be sent; name its host")
	}
	if wrong := headerText(options.Name); wrong != "" {
		return nil, fmt.Errorf("the account's name %s", wrong)
	}
	orDefault(&options.Hello, sender.domain)
	orDefault(&options.MessageIDHost, sender.domain)
	orDefault(&options.Drafts, "Drafts")
	orDefault(&options.MaxSize, 25<<20)
	orDefault(&options.MaxRecipients, 100)
	if len(options.Folders) == 0 {
		options.Folders = []string{"INBOX"}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if !hostName(options.MessageIDHost) {
		return nil, fmt.Errorf("message_id_host %q is no host name in ASCII", options.MessageIDHost)
	}
	if options.OperationHeader != "" && !fieldName(options.OperationHeader) {
		return nil, fmt.Errorf("operation_header %q is no name that the account may give a header field; name one that begins with X-", options.OperationHeader)
	}
	a := &Account{options: options, from: netmail.Address{Name: options.Name, Address: sender.text}, sender: sender}
	if err := a.options.SMTP.complete(587, 465); err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	if options.IMAP != nil {
		server := *options.IMAP
		a.options.IMAP = &server
		if err := server.complete(143, 993); err != nil {
			return nil, fmt.Errorf("imap: %w", err)
		}
	}
	a.server = a.options.SMTP.submission(a.options)
	for i, lookup := range options.Lookups {
		made, err := a.lookup(lookup)
		if err != nil {
			return nil, fmt.Errorf("look-up %d: %w", i+1, err)
		}
		a.lookups = append(a.lookups, made)
	}
	return a, nil
}

// Identity names where the account's mails go out: the upstream identity of its operations.
func (a *Account) Identity() string {
	return fmt.Sprintf("mail:%s via smtp://%s", a.sender.text, a.server.Address)
}

// Servers are the addresses, host:port, that the account connects to: SMTP first, and IMAP if it has one.
func (a *Account) Servers() []string {
	list := []string{a.server.Address}
	if a.options.IMAP != nil {
		list = append(list, a.options.IMAP.address())
	}
	return list
}

func orDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
