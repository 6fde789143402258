// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// maxSkew is how far an issuer's clock may be from this one: tokens are valid
// between two instants.
const maxSkew = 30 * time.Second

// examineOutside looks whether what the configuration talks to is there. It
// connects and sends nothing, except that it reads what issuers publish.
func (a *app) examineOutside(ctx context.Context, config *policy.Config) []finding {
	var findings []finding
	for _, o := range daemon.Outsiders(config, a.getenv) {
		findings = append(findings, examineOne(ctx, o))
	}
	for _, name := range names(config.Confirmations) {
		check, empty := "confirmations "+name, 0
		for _, secret := range config.Confirmations[name].Secrets {
			if secret.Text == "" {
				empty++
			}
		}
		if n := len(config.Confirmations[name].Secrets); empty > 0 || n == 0 {
			findings = append(findings, ok(check, "a secret is empty").as(broken, "set it: without one anybody could confirm"))
		} else {
			findings = append(findings, ok(check, "its messages are checked with %s", many(n, "secret")))
		}
	}
	return findings
}

func examineOne(ctx context.Context, o daemon.Outside) finding {
	if o.Problem != "" {
		return ok(o.Name, "%s", o.Problem).as(broken, "correct it in the configuration or the environment")
	}
	if o.Host == "" {
		return ok(o.Name, "its key set is a file, and holds keys")
	}
	skew, err := o.Reach(ctx)
	switch {
	case err != nil:
		return ok(o.Name, "%s: %v", o.Host, err).as(warning, "start it, or correct its address, its certificate or the network")
	case skew.Abs() > maxSkew:
		return ok(o.Name, "%s answers, and its clock is %s", o.Host, aheadWords(skew)).as(warning, "set the clock (NTP): tokens are valid between two instants")
	case o.Document != "":
		return ok(o.Name, "%s answers with what it publishes", o.Host)
	}
	return ok(o.Name, "%s takes connections; nothing was sent", o.Host)
}

func aheadWords(skew time.Duration) string {
	if skew < 0 {
		return short(-skew) + " behind this one"
	}
	return short(skew) + " ahead of this one"
}
