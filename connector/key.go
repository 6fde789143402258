// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// carrier says where the provider's own idempotency key travels, and what it may look like. Exactly one place is set where there is a carrier.
type carrier struct {
	header, body, query, graphql string
	alphabet                     alphabet
	max                          int
	retention, margin            time.Duration
}

// alphabet is the shape of a key or of a client's identity.
type alphabet string

const (
	alphabetUUID4     alphabet = "uuid4"
	alphabetHex       alphabet = "hex"
	alphabetBase32Hex alphabet = "base32hex" // [0-9a-v], of Google Calendar
	alphabetDNS1123   alphabet = "dns1123"   // names of Kubernetes objects
	alphabetAlnum     alphabet = "alnum"
	alphabetASCII     alphabet = "ascii" // visible
)

var alphabets = []alphabet{alphabetUUID4, alphabetHex, alphabetBase32Hex, alphabetDNS1123, alphabetAlnum, alphabetASCII}

// shapes tell whether a text is of an alphabet.
var shapes = map[alphabet]*regexp.Regexp{
	alphabetUUID4:     regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	alphabetHex:       regexp.MustCompile(`^[0-9a-f]+$`),
	alphabetBase32Hex: regexp.MustCompile(`^[0-9a-v]+$`),
	alphabetDNS1123:   regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`),
	alphabetAlnum:     regexp.MustCompile(`^[0-9A-Za-z]+$`),
	alphabetASCII:     regexp.MustCompile(`^[!-~]+$`),
}

func (c carrier) declared() bool { return c.header+c.body+c.query+c.graphql != "" }

// fits says what is wrong with a key; a key is never cut to fit, because a cut key is another one.
func (c carrier) fits(key string) error {
	switch {
	case key == "":
		return nil
	case len(key) > c.max:
		return fmt.Errorf("the provider's key has %d characters, and %d are taken", len(key), c.max)
	case !shapes[c.alphabet].MatchString(key):
		return fmt.Errorf("the provider's key is not of the alphabet %s", c.alphabet)
	}
	return nil
}

// mint makes the key of an operation for which the policy keeps none, because nobody says how long the provider remembers one: the provider
// still sees the same key in every attempt, and deed never presents it again of its own accord.
func (c carrier) mint(operation string) string {
	sum := sha256.Sum256([]byte("deed provider key " + operation))
	if c.alphabet == alphabetUUID4 {
		sum[6] = sum[6]&0x0f | 0x40 // RFC 9562 section 5.4
		sum[8] = sum[8]&0x3f | 0x80
		text := hex.EncodeToString(sum[:16])
		return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
	}
	text := "d" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
	if c.alphabet == alphabetHex {
		text = hex.EncodeToString(sum[:])
	}
	return text[:min(len(text), c.max)]
}

var carrierFields = []field[carrier]{
	textField("header", func(c *carrier) *string { return &c.header }),
	pointerField("body", func(c *carrier) *string { return &c.body }),
	textField("query", func(c *carrier) *string { return &c.query }),
	textField("graphql", func(c *carrier) *string { return &c.graphql }),
	wordField("alphabet", func(c *carrier) *alphabet { return &c.alphabet }, alphabets...),
	countField("max", 1, 1024, func(c *carrier) *int { return &c.max }),
	durationField("retention", func(c *carrier) *time.Duration { return &c.retention }),
	durationField("margin", func(c *carrier) *time.Duration { return &c.margin }),
}

// carrier reads provider_key and ties it to the request.
func (r *reader) carrier(at place, q *request) {
	c := carrier{alphabet: alphabetUUID4, max: 255}
	before := len(r.found)
	block(r, at, carrierFields, &c)
	if len(r.found) > before {
		return
	}
	places := slices.DeleteFunc([]string{c.header, c.body, c.query, c.graphql}, func(s string) bool { return s == "" })
	switch {
	case len(places) != 1:
		r.refuse(at, "must name one place for the key", "write one of header:, body:, query: and graphql:")
	case c.header != "" && !token.MatchString(c.header):
		r.refuse(at, c.header+" is no name of a header", "write such as Idempotency-Key")
	case c.alphabet == alphabetUUID4 && c.max < 36:
		r.refuse(at, fmt.Sprintf("a UUID has 36 characters and max is %d", c.max), "write alphabet: hex or alnum")
	case c.margin > 0 && c.margin >= c.retention:
		r.refuse(at, "the margin leaves nothing of the retention", "write a margin below the retention")
	case c.graphql != "" && !hasDirective(q, c.graphql):
		r.refuse(at, "the GraphQL text does not use $"+c.graphql+" as a key", "write @idempotent(key: $"+c.graphql+") after the mutation's field and $"+c.graphql+": String! among its variables")
	case (c.body != "" || c.graphql != "") && (q.body != bodyJSON && q.body != bodyForm):
		r.refuse(at, "there is no body that could hold the key", "write body: json or form")
	default:
		if c.graphql != "" {
			c.body = "/variables/" + c.graphql
		}
		q.key = c
	}
}

// hasDirective: Shopify's carrier is a directive whose argument is a variable, so that the query itself stays a constant.
func hasDirective(q *request, variable string) bool {
	return q.graphql && strings.Contains(q.content.parts[0].text.literals[0], "(key: $"+variable+")")
}
