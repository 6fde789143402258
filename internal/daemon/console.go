// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
	"github.com/deed-run/deed/policy"
)

// openConsole makes the pages. Where nobody can sign in, whoever reaches them on
// this machine reads, and decides with the bootstrap token that is returned.
func openConsole(c *Core, tokensKnown bool, probe *health) (*console.Console, string, error) {
	budgets := budgetsOf(c.Config)
	o := console.Options{
		Runtime: c.Runtime, Hosts: c.Config.Console.AllowedHosts, Address: c.Config.Console.Address, TraceURL: c.Config.Console.TraceURL,
		Secure: strings.HasPrefix(c.Config.Console.Address, "https://"), Tally: c.tally, Health: probe.check, Fence: c.fenceOfPages, Risk: c.risk, Clock: c.Clock, Sessions: c.Ledger,
	}
	if len(budgets) > 0 {
		o.Budgets = func(ctx context.Context, who deed.Principal) ([]deed.BudgetStatus, error) {
			return c.Runtime.Budgets(ctx, who, budgets)
		}
	}
	if c.reconciler() != nil {
		o.Probes = c.Runtime
	}
	if !tokensKnown {
		o.Ledger, o.Config = c.place.Flag(), whole(c.Config.File)
		if !c.place.Database() {
			o.Ledger = whole(o.Ledger)
		}
	}
	if tokensKnown {
		o.Tokens = tokensOf(c.Config.Auth.Tokens).byHash
	}
	if signIn := c.Config.Auth.OIDC; signIn != nil {
		o.OIDC = oidcOf(signIn)
	}
	if o.Tokens == nil && o.OIDC == nil {
		o.Local = &deed.Principal{Tenant: c.Config.Tenant, Actor: c.Config.Actor, Rights: []deed.Right{deed.RightRead}}
		o.Bootstrap = rand.Text() + rand.Text()
	}
	pages, err := console.New(o)
	return pages, o.Bootstrap, err
}

// whole is a path that holds in any folder.
func whole(path string) string {
	if all, err := filepath.Abs(path); err == nil && path != "" {
		return all
	}
	return path
}

func oidcOf(o *policy.OIDC) *console.OIDC {
	return &console.OIDC{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret.Text, RedirectURL: o.RedirectURL, Scopes: o.Scopes,
		ActorClaim: o.ActorClaim, Tenant: o.Tenant, TenantClaim: o.TenantClaim, RolesClaim: o.RolesClaim,
		Rights: func(values []string) []deed.Right { return o.RoleOf(values).Rights() },
	}
}
