// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/url"
	"slices"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/loopback"
)

// JWT says which JSON Web Tokens are accepted as bearer tokens (RFC 7519).
type JWT struct {
	// JWKS is the address of the issuer's key set (RFC 7517), and JWKSFile the
	// absolute path of one in a file. One of the two is set.
	JWKS     Value
	JWKSFile string
	// Issuer is what the claim iss must be, Audience what aud must name.
	Issuer   string
	Audience string
	// TenantClaim and ActorClaim name the claims that hold tenant and actor.
	// Tenant, when set, is everybody's instead.
	TenantClaim string
	ActorClaim  string
	Tenant      deed.Tenant
	// RightsClaim names the claim that lists rights. Rights, when set, are
	// everybody's instead.
	RightsClaim string
	Rights      []deed.Right
	// Algorithms are the signatures that count.
	Algorithms []string
}

// signatures are asymmetric: whoever can verify a token cannot make one.
func signatures() []string { return []string{"RS256", "ES256", "EdDSA"} }

func jwtKeys() []key[jwtReader] {
	literal := func(name, initial string, field func(*JWT) *string) key[jwtReader] {
		return key[jwtReader]{name: name, initial: initial, read: func(d *decoder, at place, into *jwtReader) { d.literal(at, field(&into.JWT)) }}
	}
	return []key[jwtReader]{
		{name: "jwks", read: func(d *decoder, at place, into *jwtReader) { d.keySet(at, into) }},
		literal("issuer", "", func(j *JWT) *string { return &j.Issuer }),
		literal("audience", "", func(j *JWT) *string { return &j.Audience }),
		literal("tenant_claim", "tenant", func(j *JWT) *string { return &j.TenantClaim }),
		literal("actor_claim", "sub", func(j *JWT) *string { return &j.ActorClaim }),
		{name: "tenant", read: func(d *decoder, at place, into *jwtReader) { name(d, at, &into.Tenant) }},
		literal("rights_claim", "scope", func(j *JWT) *string { return &j.RightsClaim }),
		{name: "rights", read: func(d *decoder, at place, into *jwtReader) { into.Rights = d.rights(at) }},
		{name: "algorithms", initial: "[RS256, ES256, EdDSA]", read: func(d *decoder, at place, into *jwtReader) { into.Algorithms = d.algorithms(at) }},
	}
}

// jwtReader is a JWT while it is read.
type jwtReader struct {
	JWT
	folder string
}

func (d *decoder) jwt(at place, config *Config) {
	before := len(d.found)
	reader := jwtReader{JWT: JWT{TenantClaim: "tenant", ActorClaim: "sub", RightsClaim: "scope", Algorithms: signatures()}, folder: config.Folder}
	block(d, at, jwtKeys(), &reader)
	if len(d.found) > before {
		return
	}
	_, tenantClaim := d.written(at, "tenant_claim")
	_, rightsClaim := d.written(at, "rights_claim")
	_, rights := d.written(at, "rights")
	switch {
	case reader.JWKS.Text == "" && reader.JWKSFile == "":
		d.refuse(at, "has no jwks", "write jwks: and the address of the issuer's key set, or a file")
	case reader.Issuer == "":
		d.refuse(at, "has no issuer", "write issuer: and what the claim iss must be")
	case reader.Audience == "":
		d.refuse(at, "has no audience, so that tokens made for others would be accepted", "write audience: and the name that the issuer has for this gateway")
	case reader.Tenant != "" && tenantClaim:
		d.refuse(d.inside(at, "tenant"), "gives everybody one tenant beside tenant_claim", "remove one of the two")
	case rights && rightsClaim:
		d.refuse(d.inside(at, "rights"), "gives everybody the same rights beside rights_claim", "remove one of the two")
	case rights && len(reader.Rights) == 0:
		d.refuse(d.inside(at, "rights"), "is an empty list", "write rights: [call] or what holders of a token may do, or rights_claim")
	}
	config.Auth.JWT = &reader.JWT
}

func (d *decoder) keySet(at place, into *jwtReader) {
	value, ok := d.expanded(at)
	if !ok {
		return
	}
	if !strings.Contains(value.Text, "://") {
		into.JWKSFile = under(into.folder, value.Text)
		return
	}
	if d.safeAddress(at, value) {
		into.JWKS = value
	}
}

// safeAddress refuses addresses whose answers others could change on the way.
func (d *decoder) safeAddress(at place, value Value) bool {
	u, err := url.Parse(value.Text)
	switch {
	case err != nil || u.Host == "" || u.Fragment != "" || u.User != nil || writtenUser(value.Source):
		d.refuse(at, "is no address", "write https://, a host and a path")
	case u.Scheme != "https" && !(u.Scheme == "http" && loopback.Is(u.Hostname())):
		d.refuse(at, "is no https:// address, so that others could answer in its name", "write https://")
	default:
		return true
	}
	return false
}

func (d *decoder) algorithms(at place) []string {
	var list []string
	items := d.items(at, "algorithms")
	if items != nil && len(items) == 0 {
		d.refuse(at, "is an empty list, under which no token counts", "write "+listed(signatures(), "or"))
	}
	for _, item := range items {
		text, _ := written(item.node)
		switch {
		case strings.HasPrefix(text, "HS"):
			d.refuse(item, text+" is signed with a shared secret: whoever verifies such a token can make one", "write "+listed(signatures(), "or"))
		case text == "none":
			d.refuse(item, "none is no signature", "write "+listed(signatures(), "or"))
		case !slices.Contains(signatures(), text):
			d.unknownWord(item, text, signatures())
		case slices.Contains(list, text):
			d.refuse(item, text+" is there already", "remove it")
		default:
			list = append(list, text)
		}
	}
	return list
}

// literal reads a text in which variables are replaced and that is no secret.
func (d *decoder) literal(at place, into *string) {
	if value, ok := d.expanded(at); ok {
		*into = value.Text
	}
}
