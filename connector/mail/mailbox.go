// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// imapTimeout bounds one use of the IMAP server.
const imapTimeout = time.Minute

// mailbox is one session with the IMAP server, used by one goroutine.
type mailbox struct {
	client *imapclient.Client
	limit  int64
	stop   func()
}

// limited is a connection that yields so many bytes: what a server claims of a size is not believed.
type limited struct {
	net.Conn
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the IMAP server sent more than was asked for")
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.Conn.Read(p)
	l.left -= int64(n)
	return n, err
}

// open signs in to the IMAP server. Close must be called when there is no error.
func (a *Account) open(ctx context.Context) (*mailbox, error) {
	server := a.options.IMAP
	if server == nil {
		return nil, errors.New("the account has no IMAP server")
	}
	ctx, cancel := context.WithTimeout(ctx, imapTimeout)
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", server.address())
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connecting to the IMAP server: %w", err)
	}
	calm := context.AfterFunc(ctx, func() { _ = conn.Close() })
	m := &mailbox{limit: a.options.MaxSize}
	m.stop = func() {
		calm()
		if m.client != nil {
			_ = m.client.Close()
		}
		_ = conn.Close()
		cancel()
	}
	bounded := &limited{Conn: conn, left: 4*a.options.MaxSize + 4<<20}
	switch server.Security {
	case securityTLS:
		protected := tls.Client(bounded, server.tls())
		if err = protected.HandshakeContext(ctx); err == nil {
			m.client = imapclient.New(protected, nil)
		}
	case securityStartTLS:
		m.client, err = imapclient.NewStartTLS(bounded, &imapclient.Options{TLSConfig: server.tls()})
	default:
		m.client = imapclient.New(bounded, nil)
	}
	if err != nil {
		m.stop()
		return nil, fmt.Errorf("TLS with the IMAP server: %w", err)
	}
	if server.Username != "" {
		if err := m.client.Login(server.Username, server.Password).Wait(); err != nil {
			m.stop()
			return nil, fmt.Errorf("signing in to the IMAP server: %w", err)
		}
	}
	return m, nil
}

// use runs f in a session.
func (a *Account) use(ctx context.Context, f func(*mailbox) error) error {
	m, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer m.stop()
	return f(m)
}

// stored is a mail of a folder.
type stored struct {
	folder string
	uid    imap.UID
	raw    []byte
}

// fetch returns the mails whose header field is exactly value, from the folders in their order.
func (a *Account) fetch(ctx context.Context, folders []string, field, value string) ([]stored, error) {
	var found []stored
	err := a.use(ctx, func(m *mailbox) error {
		for _, folder := range folders {
			list, err := m.find(folder, field, value, true)
			if err != nil {
				return fmt.Errorf("folder %s: %w", folder, err)
			}
			found = append(found, list...)
		}
		return nil
	})
	return found, err
}

// find searches one folder (RFC 3501 section 6.4.4, SEARCH HEADER). The search finds parts of values, so each header is compared again. The
// bytes are fetched when whole is set, else the header alone.
func (m *mailbox) find(folder, field, value string, whole bool) ([]stored, error) {
	if _, err := m.client.Select(folder, &imap.SelectOptions{ReadOnly: true}).Wait(); err != nil {
		return nil, err
	}
	criteria := imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: field, Value: value}}}
	if field == draftHeader {
		// A draft that is marked for deletion is gone; a sent mail that is was sent all the same.
		criteria.NotFlag = []imap.Flag{imap.FlagDeleted}
	}
	data, err := m.client.UIDSearch(&criteria, nil).Wait()
	if err != nil {
		return nil, err
	}
	uids := data.AllUIDs()
	if len(uids) == 0 {
		return nil, nil
	}
	const most = 50
	if len(uids) > most {
		return nil, fmt.Errorf("%d mails answer to %s %s", len(uids), field, value)
	}
	unreadable := 0
	list, err := m.load(folder, imap.UIDSetNum(uids...), func(s stored) bool {
		header, err := parse(append(slices.Clone(headerOf(s.raw)), "\r\n"...))
		if err != nil {
			unreadable++
			return false
		}
		return strings.TrimSpace(header.Header.Get(field)) == value
	}, whole)
	if err == nil && unreadable > 0 && !whole {
		// For a look-up, what cannot be read might be the mail.
		err = fmt.Errorf("%d of the mails that answer to %s %s have a header that cannot be read", unreadable, field, value)
	}
	return list, err
}

// load fetches mails of the selected folder that are not larger than the account takes.
func (m *mailbox) load(folder string, set imap.NumSet, keep func(stored) bool, whole bool) ([]stored, error) {
	section := &imap.FetchItemBodySection{Peek: true}
	if !whole {
		section.Specifier = imap.PartSpecifierHeader
	}
	sizes, err := m.client.Fetch(set, &imap.FetchOptions{UID: true, RFC822Size: true}).Collect()
	if err != nil {
		return nil, err
	}
	var list []stored
	for _, size := range sizes {
		if whole && size.RFC822Size > m.limit {
			return nil, fmt.Errorf("mail %d has %d bytes and the account takes %d", size.UID, size.RFC822Size, m.limit)
		}
		mails, err := m.client.Fetch(imap.UIDSetNum(size.UID), &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{section}}).Collect()
		if err != nil {
			return nil, err
		}
		for _, mail := range mails {
			s := stored{folder: folder, uid: mail.UID, raw: mail.FindBodySection(section)}
			if mail.UID == size.UID && keep(s) {
				list = append(list, s)
			}
		}
	}
	return list, nil
}
