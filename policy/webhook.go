// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deed-run/deed"
)

// Webhook is somebody who is told what waits for a person.
type Webhook struct {
	URL Value
	// Secret signs what is sent; it is empty only for Slack.
	Secret Value
	// Events are "approval" and "unresolved"; never empty.
	Events []string
	// Format is "deed" or "slack".
	Format string
}

func webhookKeys() []key[Webhook] {
	return []key[Webhook]{
		{name: "url", read: func(d *decoder, at place, w *Webhook) { d.url(at, &w.URL) }},
		{name: "secret", read: func(d *decoder, at place, w *Webhook) { d.secret(at, &w.Secret) }},
		{name: "events", initial: "[approval, unresolved]", read: func(d *decoder, at place, w *Webhook) { w.Events = d.events(at) }},
		{name: "format", initial: "deed", read: func(d *decoder, at place, w *Webhook) { word(d, at, &w.Format, "deed", "slack") }},
	}
}

func (d *decoder) events(at place) []string {
	var list []string
	items := d.items(at, "events")
	if items != nil && len(items) == 0 {
		d.refuse(at, "is an empty list, so that nobody is told anything", "write approval and unresolved, or remove the key")
	}
	for _, item := range items {
		var event string
		if word(d, item, &event, "approval", "unresolved"); event != "" && !slices.Contains(list, event) {
			list = append(list, event)
		}
	}
	return list
}

func (d *decoder) webhooks(at place, config *Config) {
	for _, item := range d.items(at, "webhooks") {
		before := len(d.found)
		hook := Webhook{Events: []string{"approval", "unresolved"}, Format: "deed"}
		block(d, item, webhookKeys(), &hook)
		switch {
		case len(d.found) > before:
		case hook.URL.Text == "":
			d.refuse(item, "has no url", "write url: and the address of the receiver")
		case hook.Format == "deed" && hook.Secret.Text == "":
			d.refuse(item, "has no secret, so that its receiver cannot tell it from anybody's", "write secret: ${VAR}")
		}
		config.Webhooks = append(config.Webhooks, hook)
	}
}

// Confirmation is a provider that tells by itself what it did: signed messages
// to /confirmations/NAME.
type Confirmation struct {
	Name string
	// Tenant is whose operations the messages are about.
	Tenant deed.Tenant
	// Secrets are those in force; several while one replaces another.
	Secrets []Value
	// Header carries the HMAC-SHA256 in hex, after Prefix. With TimestampHeader
	// it is over that header's seconds, a dot, and the body, not older or newer
	// than Tolerance.
	Header          string
	Prefix          string
	TimestampHeader string
	Tolerance       time.Duration

	marker, id, url string
	when            *expression
}

const varMessage = "message"

func confirmationKeys() []key[Confirmation] {
	pointer := func(name string, field func(*Confirmation) *string) key[Confirmation] {
		return key[Confirmation]{name: name, read: func(d *decoder, at place, c *Confirmation) { *field(c), _ = d.pointer(at) }}
	}
	header := func(name string, field func(*Confirmation) *string) key[Confirmation] {
		return key[Confirmation]{name: name, read: func(d *decoder, at place, c *Confirmation) { d.keyHeader(at, field(c)) }}
	}
	return []key[Confirmation]{
		{name: "tenant", read: func(d *decoder, at place, c *Confirmation) { name(d, at, &c.Tenant) }},
		{name: "secret", read: func(d *decoder, at place, c *Confirmation) { d.secrets(at, &c.Secrets) }},
		header("header", func(c *Confirmation) *string { return &c.Header }),
		{name: "prefix", read: func(d *decoder, at place, c *Confirmation) { c.Prefix, _ = d.text(at) }},
		header("timestamp_header", func(c *Confirmation) *string { return &c.TimestampHeader }),
		{name: "tolerance", initial: "5m", read: func(d *decoder, at place, c *Confirmation) { d.duration(at, &c.Tolerance) }},
		pointer("marker", func(c *Confirmation) *string { return &c.marker }),
		pointer("id", func(c *Confirmation) *string { return &c.id }),
		pointer("url", func(c *Confirmation) *string { return &c.url }),
		{name: "when", read: func(d *decoder, at place, c *Confirmation) { c.when = d.expression(at, varMessage) }},
	}
}

// secrets reads one secret or a list of them.
func (d *decoder) secrets(at place, into *[]Value) {
	places := []place{at}
	if _, text := written(at.node); !text {
		places = d.items(at, "secrets")
	}
	for _, item := range places {
		var value Value
		if d.secret(item, &value); value.Secret {
			*into = append(*into, value)
		}
	}
}

func (d *decoder) confirmations(at place, config *Config) {
	for _, e := range d.entries(at) {
		before := len(d.found)
		named := d.upstreamName(e)
		c := Confirmation{Name: e.name, Tenant: config.Tenant, Tolerance: 5 * time.Minute}
		block(d, e.value, confirmationKeys(), &c)
		if !named {
			continue
		}
		switch {
		case len(d.found) > before:
		case len(c.Secrets) == 0:
			d.refuse(e.value, "has no secret, so that anybody could confirm anything", "write secret: ${VAR}")
		case c.Header == "":
			d.refuse(e.value, "names no header that carries the signature", "write header: and what the provider documents, such as X-Signature")
		case c.marker == "":
			d.refuse(e.value, "does not say which operation a message is about", "write marker: and the pointer to the mark in it, such as /data/metadata/op")
		}
		config.Confirmations[e.name] = c
	}
}

// Read finds in a genuine message the marker of the operation and what was
// made. proves is false for a message that is about something else, such as one
// that the condition leaves out ("queued").
func (c Confirmation) Read(message []byte) (proof deed.Proof, proves bool, err error) {
	if c.when != nil {
		var v readings
		if err := v.read(varMessage, message); err != nil {
			return proof, false, fmt.Errorf("the message is no JSON: %w", err)
		}
		value, err := c.when.decide(v)
		if err != nil {
			return proof, false, fmt.Errorf("when: %w", err)
		}
		if value.Value() != true {
			return proof, false, nil
		}
	}
	read := func(pointer string) (string, error) {
		if pointer == "" {
			return "", nil
		}
		raw, found, err := pick(message, pointer)
		if err != nil || !found {
			return "", err
		}
		text, _ := plainText(json.RawMessage(raw))
		return text, nil
	}
	var errs [3]error
	proof.Marker, errs[0] = read(c.marker)
	proof.RemoteID, errs[1] = read(c.id)
	proof.RemoteURL, errs[2] = read(c.url)
	if err := errors.Join(errs[:]...); err != nil {
		return proof, false, err
	}
	return proof, proof.Marker != "", nil
}

// source is what the confirmation consists of, without its secrets.
func (c Confirmation) source() string {
	return fmt.Sprintf("%s %v %s %s %s %s %q %q %q %q", c.Tenant, c.Secrets, c.Header, c.Prefix, c.TimestampHeader, c.Tolerance, c.marker, c.id, c.url, c.when.text())
}
