// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"net/url"
	"strings"
)

// Address is where requests go, and the words in which logs, records and answers tell of it: any part of a URL may be a secret, as the path
// of a Slack hook is.
type Address struct {
	URL string
	// Written is the URL as it was configured, with ${NAME} where a secret stands; "" where URL holds none.
	Written string
}

// String is what may be told. Without Written it is the URL, but for a password in it.
func (a Address) String() string {
	if a.Written != "" {
		return a.Written
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return "an address that is no URL"
	}
	return u.Redacted()
}

// Hide returns an error whose text has the address as it was written wherever err's has the one used, or a part of it: net/http and net put
// both into their errors. What err is, the new one is too. Nil stays nil.
func (a Address) Hide(err error) error {
	if err == nil || a.Written == "" || a.Written == a.URL {
		return err
	}
	text := strings.NewReplacer(a.words()...).Replace(err.Error())
	if text == err.Error() {
		return err
	}
	return &hidden{text, err}
}

type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }

func (h *hidden) Unwrap() error { return h.err }

// words are texts that are told otherwise, each before what stands for it. Where several begin at one place, the first of them counts.
func (a Address) words() []string {
	used, written := partsOf(a.URL), partsOf(a.Written)
	words := []string{a.URL, a.Written}
	add := func(from, to string) {
		if len(from) > 1 && from != to {
			words = append(words, from, to)
		}
	}
	if u, err := url.Parse(a.URL); err == nil { // as net/http spells it
		add(u.String(), a.Written)
		add(u.Redacted(), a.Written)
		add(u.EscapedPath(), written.path)
		add(u.Path, written.path)
		add(u.Query().Encode(), written.query)
	}
	add(used.path, written.path)
	add(used.query, written.query)
	add(used.authority, written.authority)
	add(used.host, written.host)
	return words
}

type parts struct{ authority, host, path, query string }

// partsOf takes an address apart that need not be a URL: ${NAME} is no host. One that begins with ${NAME} is all of its parts.
func partsOf(address string) parts {
	scheme, rest, found := strings.Cut(address, "://")
	if !found || strings.Contains(scheme, "$") {
		return parts{address, address, address, address}
	}
	rest, query, _ := strings.Cut(rest, "?")
	p := parts{authority: rest, query: query}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		p.authority, p.path = rest[:i], rest[i:]
	}
	p.host = p.authority
	if i := strings.LastIndexByte(p.host, ':'); i >= 0 && strings.IndexByte(p.host[i:], '}') < 0 && strings.IndexByte(p.host[i:], ']') < 0 {
		p.host = p.host[:i]
	}
	p.host = strings.Trim(p.host, "[]")
	return p
}
