// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

// Consents are approvals that people give elsewhere: signed by an issuer, over
// the digest of a proposal (JWS, RFC 7515).
type Consents struct {
	// JWKS is the address of the issuer's key set (RFC 7517), and JWKSFile the
	// absolute path of one in a file. One of the two is set.
	JWKS     Value
	JWKSFile string
	// Issuer is what the claim iss must be, Audience what aud must name.
	Issuer   string
	Audience string
	// ApproverClaim names the claim that holds who consents, DigestClaim the one
	// that holds the proposal's digest. The claim jti is the consent's id.
	ApproverClaim string
	DigestClaim   string
	// Algorithms are the signatures that count.
	Algorithms []string
}

// consentsReader is a Consents while it is read.
type consentsReader struct {
	jwtReader
	digest string
}

func consentsKeys() []key[consentsReader] {
	literal := func(name, initial string, field func(*consentsReader) *string) key[consentsReader] {
		return key[consentsReader]{name: name, initial: initial, read: func(d *decoder, at place, into *consentsReader) { d.literal(at, field(into)) }}
	}
	return []key[consentsReader]{
		{name: "jwks", read: func(d *decoder, at place, into *consentsReader) { d.keySet(at, &into.jwtReader) }},
		literal("issuer", "", func(c *consentsReader) *string { return &c.Issuer }),
		literal("audience", "", func(c *consentsReader) *string { return &c.Audience }),
		literal("approver_claim", "sub", func(c *consentsReader) *string { return &c.ActorClaim }),
		literal("digest_claim", "digest", func(c *consentsReader) *string { return &c.digest }),
		{name: "algorithms", initial: "[RS256, ES256, EdDSA]", read: func(d *decoder, at place, into *consentsReader) { into.Algorithms = d.algorithms(at) }},
	}
}

func (d *decoder) consents(at place, config *Config) {
	before := len(d.found)
	reader := consentsReader{digest: "digest", jwtReader: jwtReader{folder: config.Folder, JWT: JWT{ActorClaim: "sub", Algorithms: signatures()}}}
	block(d, at, consentsKeys(), &reader)
	switch {
	case len(d.found) > before:
		return
	case reader.JWKS.Text == "" && reader.JWKSFile == "":
		d.refuse(at, "has no jwks", "write jwks: and the address of the issuer's key set, or a file")
	case reader.Issuer == "":
		d.refuse(at, "has no issuer", "write issuer: and what the claim iss must be")
	case reader.Audience == "":
		d.refuse(at, "has no audience, so that consents to others would count", "write audience: and the name that the issuer has for this gateway")
	}
	config.Auth.Consents = &Consents{
		JWKS: reader.JWKS, JWKSFile: reader.JWKSFile, Issuer: reader.Issuer, Audience: reader.Audience, ApproverClaim: reader.ActorClaim,
		DigestClaim: reader.digest, Algorithms: reader.Algorithms,
	}
}
