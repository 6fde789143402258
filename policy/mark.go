// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// Marker says where the mark of an operation is written into its arguments.
type Marker struct {
	// Into is the pointer to a value that is the mark, Append that to a text at
	// whose end it is added. One of the two is set.
	Into   string
	Append string
	// Template is what is written, with {marker} in it.
	Template string
	// Search is the address of a page that finds the mark, with {marker} in it.
	Search string
}

// ClientID says where the identity that we choose for a created resource
// stands in the arguments.
type ClientID struct {
	Into  string
	shape shape
}

// ProviderKey says how a key of its own is presented to the provider. One of
// Header, Into, Meta and Request is set.
type ProviderKey struct {
	// Header is a header of the request, Into a pointer into the arguments, Meta
	// a member of _meta.
	Header string
	Into   string
	Meta   string
	// Request is a place in the request that a connector makes, which carries the
	// key there by itself: of its body, query or GraphQL variables.
	Request string
	// Retention is how long the provider remembers a key, less Margin.
	Retention time.Duration
	Margin    time.Duration
	shape     shape
	// unsent: the key does not travel, as no header does to a command, and no
	// place in a request where no connector makes one. It is then not presented:
	// the same bytes without it would be a second effect.
	unsent bool
}

func markerKeys() []key[Marker] {
	return []key[Marker]{
		{name: "into", read: func(d *decoder, at place, m *Marker) { m.Into, _ = d.pointer(at) }},
		{name: "append", read: func(d *decoder, at place, m *Marker) { m.Append, _ = d.pointer(at) }},
		{name: "template", read: func(d *decoder, at place, m *Marker) { d.markerTemplate(at, &m.Template) }},
		{name: "search", read: func(d *decoder, at place, m *Marker) {
			if d.markerTemplate(at, &m.Search); m.Search != "" && !strings.HasPrefix(m.Search, "https://") && !strings.HasPrefix(m.Search, "http://") {
				d.refuse(at, "is no URL of a page", "write https://, a host and a path, and {marker} in it")
			}
		}},
	}
}

func (d *decoder) markerTemplate(at place, into *string) {
	text, ok := d.text(at)
	if !ok {
		return
	}
	before := len(d.found)
	t := d.textTemplate(at, text, []string{varMarker})
	if len(d.found) == before && len(t.places) != 1 {
		d.refuse(at, "holds {marker} not once", "write such as \"<!-- {marker} -->\"")
		return
	}
	*into = text
}

func (d *decoder) marker(at place, into **Marker) {
	before := len(d.found)
	var m Marker
	block(d, at, markerKeys(), &m)
	switch {
	case len(d.found) > before:
	case m.Into == "" && m.Append == "":
		d.refuse(at, "has no place", "write into: and the pointer to an argument, or append: and that to a text")
	case m.Into != "" && m.Append != "":
		d.refuse(at, "has both into and append", "keep one of the two")
	}
	if m.Template == "" {
		m.Template = "{marker}"
		if m.Append != "" {
			m.Template = "\n<!-- {marker} -->"
		}
	}
	*into = &m
}

func clientIDKeys() []key[ClientID] {
	return []key[ClientID]{
		{name: "into", read: func(d *decoder, at place, c *ClientID) { c.Into, _ = d.pointer(at) }},
		{name: "alphabet", initial: "uuid4", read: func(d *decoder, at place, c *ClientID) {
			word(d, at, &c.shape.alphabet, alphabetUUID4, alphabetBase32Hex, alphabetDNS1123, alphabetHex, alphabetAlnum, alphabetASCII)
		}},
		{name: "format", read: func(d *decoder, at place, c *ClientID) {
			word(d, at, &c.shape.alphabet, alphabetUUID4, alphabetBase32Hex, alphabetDNS1123, alphabetHex, alphabetAlnum, alphabetASCII)
		}},
		{name: "max", initial: "255", read: func(d *decoder, at place, c *ClientID) { d.longest(at, &c.shape.max) }},
	}
}

func (d *decoder) clientID(at place, into **ClientID) {
	before := len(d.found)
	c := ClientID{shape: shape{alphabetUUID4, 255}}
	block(d, at, clientIDKeys(), &c)
	if len(d.found) == before {
		if c.Into == "" {
			d.refuse(at, "has no place", "write into: and the pointer to the argument, such as /id")
		}
		d.checkShape(at, c.shape)
	}
	*into = &c
}

func providerKeyKeys() []key[ProviderKey] {
	carried := func(name string) key[ProviderKey] {
		return key[ProviderKey]{name: name, read: func(d *decoder, at place, p *ProviderKey) {
			text, ok := d.text(at)
			if ok && p.Request != "" {
				d.refuse(at, "is another place for the key", "keep one of body, query and graphql")
			}
			p.Request = name + " " + text
		}}
	}
	return []key[ProviderKey]{
		{name: "header", read: func(d *decoder, at place, p *ProviderKey) { d.keyHeader(at, &p.Header) }},
		{name: "into", read: func(d *decoder, at place, p *ProviderKey) { p.Into, _ = d.pointer(at) }},
		{name: "meta", read: func(d *decoder, at place, p *ProviderKey) { p.Meta, _ = d.text(at) }},
		carried("body"), carried("query"), carried("graphql"),
		{name: "alphabet", initial: "uuid4", read: func(d *decoder, at place, p *ProviderKey) {
			word(d, at, &p.shape.alphabet, alphabetUUID4, alphabetBase32Hex, alphabetDNS1123, alphabetHex, alphabetAlnum, alphabetASCII)
		}},
		{name: "max", initial: "255", read: func(d *decoder, at place, p *ProviderKey) { d.longest(at, &p.shape.max) }},
		{name: "retention", read: func(d *decoder, at place, p *ProviderKey) { d.duration(at, &p.Retention) }},
		{name: "margin", initial: "10m", read: func(d *decoder, at place, p *ProviderKey) { d.duration(at, &p.Margin) }},
	}
}

func (d *decoder) keyHeader(at place, into *string) {
	text, ok := d.text(at)
	switch {
	case !ok:
	case !headerName(text):
		d.refuse(at, "is no name of a header", "write letters, digits and -, such as Idempotency-Key")
	case strings.EqualFold(text, "Authorization") || strings.EqualFold(text, "Cookie") || strings.EqualFold(text, "Content-Type") || strings.EqualFold(text, "Host"):
		d.refuse(at, text+" means something else", "write the header that the provider documents, such as Idempotency-Key")
	default:
		*into = text
	}
}

func (d *decoder) providerKey(at place, into **ProviderKey) {
	before := len(d.found)
	p := ProviderKey{shape: shape{alphabetUUID4, 255}}
	block(d, at, providerKeyKeys(), &p)
	*into = &p
	if len(d.found) > before {
		return
	}
	if p.Margin == 0 {
		p.Margin = min(10*time.Minute, p.Retention/4)
	}
	places := 0
	for _, text := range []string{p.Header, p.Into, p.Meta, p.Request} {
		places += min(1, len(text))
	}
	switch {
	case places != 1:
		d.refuse(at, fmt.Sprintf("names %d places for the key", places), "write one of header: Idempotency-Key, into: /pointer and meta: name")
	case p.Retention == 0:
		d.refuse(at, "does not say how long the provider remembers a key: afterwards the same key is a second effect", "write retention: and what the provider documents, such as 24h")
	case p.Margin >= p.Retention:
		d.refuse(d.first(at, "margin", "retention"), "margin "+short(p.Margin)+" leaves nothing of the retention "+short(p.Retention), "write a margin below it")
	}
	d.checkShape(at, p.shape)
}

// rule is the provider's key as the domain judges it.
func (p *ProviderKey) rule() *deed.ProviderKeyRule {
	if !p.travels() {
		return nil
	}
	return &deed.ProviderKeyRule{Retention: p.Retention, Margin: p.Margin, Place: p.place(), Mint: p.shape.mint}
}

// Planted reports whether the marks stand in the arguments of an operation where
// the configuration writes them now. Where it once wrote them elsewhere, a look-up
// that does not find them has perhaps not looked there.
func (c *Config) Planted(tool deed.Tool, arguments []byte, marks deed.Marks) bool {
	entry, _ := c.entry(tool)
	if !entry.plants() {
		return true
	}
	again, err := entry.plant(arguments, marks)
	return err == nil && bytes.Equal(again, arguments)
}

// travels reports whether there is a key that reaches the provider.
func (p *ProviderKey) travels() bool { return p != nil && !p.unsent }

// plants reports whether anything is written into the arguments of a tool.
func (t Tool) plants() bool {
	return t.Marker != nil || t.ClientID != nil || t.ProviderKey != nil && t.ProviderKey.Into != ""
}

// planting is what is written into the arguments, nil for nothing.
func (t Tool) planting() *deed.Planting {
	if !t.plants() {
		return nil
	}
	p := &deed.Planting{Plant: t.plant, Strip: t.strip}
	if t.ClientID != nil {
		p.ClientID = t.ClientID.shape.mint
	}
	return p
}

func (t Tool) plant(arguments []byte, marks deed.Marks) (_ []byte, err error) {
	if t.request {
		if body, found, err := pick(arguments, "/body"); err != nil || !found || body[0] != '{' {
			return nil, errors.New("the body of the request is no JSON object")
		}
	}
	if m := t.Marker; m != nil {
		text := strings.Replace(m.Template, "{marker}", marks.Marker, 1)
		if marks.Marker == "" {
			return nil, errors.New("there is no marker to write")
		}
		if m.Into != "" {
			arguments, err = edited(arguments, m.Into, owned(text))
		} else {
			arguments, err = edited(arguments, m.Append, appended(text))
		}
		if err != nil {
			return nil, err
		}
	}
	if t.ClientID != nil {
		if arguments, err = edited(arguments, t.ClientID.Into, owned(marks.ClientID)); err != nil {
			return nil, err
		}
	}
	if t.ProviderKey != nil && t.ProviderKey.Into != "" {
		return edited(arguments, t.ProviderKey.Into, owned(marks.ProviderKey))
	}
	return arguments, nil
}

// owned writes a value where the caller may have written none.
func owned(text string) change {
	return func(old json.RawMessage) (json.RawMessage, error) {
		value := quote(text)
		switch {
		case text == "":
			return nil, errors.New("is to hold a mark that there is not")
		case old == nil || string(old) == "null" || string(old) == string(value):
			return value, nil
		}
		return nil, errors.New("is written by deed, and the call brings a value of its own; leave it out")
	}
}

// appended adds to the end of a text, whose bytes stay as they were spelt.
func appended(text string) change {
	return func(old json.RawMessage) (json.RawMessage, error) {
		added, alone := quote(text), quote(strings.TrimLeft(text, "\n"))
		switch {
		case old == nil || string(old) == "null" || string(old) == string(alone):
			return alone, nil
		case old[0] != '"':
			return nil, errors.New("is no text, at whose end a mark could be added")
		case strings.HasSuffix(string(old), string(added[1:])):
			return old, nil
		}
		out := append(json.RawMessage{}, old[:len(old)-1]...)
		return append(out, added[1:]...), nil
	}
}
