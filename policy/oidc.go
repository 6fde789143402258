// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/url"
	"slices"

	"github.com/deed-run/deed"
)

// Role is what a person may do in the console.
type Role string

// Each role may do what the ones before it may.
const (
	RoleViewer   Role = "viewer"
	RoleApprover Role = "approver"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// Rights are what a role may do.
func (r Role) Rights() []deed.Right {
	switch r {
	case RoleViewer:
		return []deed.Right{deed.RightRead}
	case RoleApprover:
		return []deed.Right{deed.RightRead, deed.RightApprove}
	case RoleOperator:
		return []deed.Right{deed.RightRead, deed.RightApprove, deed.RightResolve}
	case RoleAdmin:
		return []deed.Right{deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin}
	}
	return nil
}

// OIDC lets people sign in to the console with OpenID Connect.
type OIDC struct {
	// Issuer is the address under which the provider describes itself.
	Issuer       string
	ClientID     string
	ClientSecret Value
	// RedirectURL is where the provider sends people back to.
	RedirectURL string
	Scopes      []string
	// ActorClaim names the claim that is the actor, TenantClaim that of the
	// tenant; Tenant, when set, is everybody's instead.
	ActorClaim  string
	TenantClaim string
	Tenant      deed.Tenant
	// RolesClaim names the claim that Roles are looked up by: the role of whoever
	// has one of the values listed under it, the highest of several. Nobody else
	// gets in.
	RolesClaim string
	Roles      map[Role][]string
}

// RoleOf is the highest role for the values of the roles claim, or "".
func (o *OIDC) RoleOf(values []string) Role {
	for _, role := range []Role{RoleAdmin, RoleOperator, RoleApprover, RoleViewer} {
		for _, value := range values {
			if slices.Contains(o.Roles[role], value) {
				return role
			}
		}
	}
	return ""
}

func oidcKeys() []key[OIDC] {
	literal := func(name, initial string, field func(*OIDC) *string) key[OIDC] {
		return key[OIDC]{name: name, initial: initial, read: func(d *decoder, at place, into *OIDC) { d.literal(at, field(into)) }}
	}
	address := func(name string, field func(*OIDC) *string) key[OIDC] {
		return key[OIDC]{name: name, read: func(d *decoder, at place, into *OIDC) {
			if value, ok := d.expanded(at); ok && d.safeAddress(at, value) {
				*field(into) = value.Text
			}
		}}
	}
	return []key[OIDC]{
		address("issuer", func(o *OIDC) *string { return &o.Issuer }),
		literal("client_id", "", func(o *OIDC) *string { return &o.ClientID }),
		{name: "client_secret", read: func(d *decoder, at place, into *OIDC) { d.secret(at, &into.ClientSecret) }},
		address("redirect_url", func(o *OIDC) *string { return &o.RedirectURL }),
		{name: "scopes", initial: "[openid, profile]", read: func(d *decoder, at place, into *OIDC) { into.Scopes = d.texts(at, "scopes") }},
		literal("actor_claim", "sub", func(o *OIDC) *string { return &o.ActorClaim }),
		literal("tenant_claim", "", func(o *OIDC) *string { return &o.TenantClaim }),
		{name: "tenant", read: func(d *decoder, at place, into *OIDC) { name(d, at, &into.Tenant) }},
		literal("roles_claim", "groups", func(o *OIDC) *string { return &o.RolesClaim }),
		{
			name:  "roles",
			read:  func(d *decoder, at place, into *OIDC) { block(d, at, roleKeys(), into) },
			below: below(".", roleKeys),
		},
	}
}

func roleKeys() []key[OIDC] {
	var keys []key[OIDC]
	for _, role := range []Role{RoleViewer, RoleApprover, RoleOperator, RoleAdmin} {
		keys = append(keys, key[OIDC]{name: string(role), read: func(d *decoder, at place, into *OIDC) {
			if values := d.texts(at, "values of the roles claim"); len(values) > 0 {
				into.Roles[role] = values
			}
		}})
	}
	return keys
}

func (d *decoder) oidc(at place, config *Config) {
	before := len(d.found)
	oidc := OIDC{
		Scopes: []string{"openid", "profile"}, ActorClaim: "sub", RolesClaim: "groups", Roles: map[Role][]string{},
	}
	block(d, at, oidcKeys(), &oidc)
	if len(d.found) > before {
		return
	}
	redirect, _ := url.Parse(oidc.RedirectURL)
	switch {
	case oidc.Issuer == "":
		d.refuse(at, "has no issuer", "write issuer: and the address of the provider")
	case oidc.ClientID == "":
		d.refuse(at, "has no client_id", "write client_id: and the name that the provider has for this console")
	case oidc.RedirectURL == "":
		d.refuse(at, "has no redirect_url", "write redirect_url: https://HOST/login/callback, as the provider knows it")
	case redirect != nil && redirect.RawQuery != "":
		d.refuse(d.inside(at, "redirect_url"), "holds a query", "write the address up to the path")
	case len(oidc.Roles) == 0:
		d.refuse(at, "has no roles, so that nobody gets in", "write roles: {viewer: [...], approver: [...], operator: [...], admin: [...]}, with values of the claim "+oidc.RolesClaim)
	case oidc.Tenant != "" && oidc.TenantClaim != "":
		d.refuse(d.inside(at, "tenant"), "gives everybody one tenant beside tenant_claim", "remove one of the two")
	case !slices.Contains(oidc.Scopes, "openid"):
		d.refuse(d.inside(at, "scopes"), "lacks openid, without which there is no identity", "add openid")
	}
	if oidc.Tenant == "" && oidc.TenantClaim == "" {
		oidc.Tenant = config.Tenant
	}
	config.Auth.OIDC = &oidc
}

// secret reads a text that must come from a variable, so that a file can be
// shown.
func (d *decoder) secret(at place, into *Value) {
	value, ok := d.expanded(at)
	if !ok {
		return
	}
	if !value.Secret {
		d.refuse(at, "is written out, and would be shown with the file", "write ${VAR} and set the variable")
		return
	}
	*into = value
}
