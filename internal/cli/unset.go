// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// rulesFor reads the configuration for whoever works on the ledger, and returns
// the environment that goes with it. Who only reads the ledger or decides in it
// need not hold the secrets of the servers: variables that are not set get
// stand-ins, and nothing is connected to. What leads to the ledger has none.
func (a *app) rulesFor(p place) (*policy.Config, []string, error) {
	config, err := a.rules(p.config, policy.BareOptions{})
	var wrong *policy.Error
	switch {
	case err == nil || !errors.As(err, &wrong):
		return config, a.Env, err
	case !p.reads:
		if _, _, failed := a.standingIn(p.config); failed == nil {
			err = fail(exitUsage, "%w; this command asks servers: commands that only read the ledger or decide in it need none of their secrets", err)
		}
		return nil, nil, err
	}
	again, unset, failed := a.standingIn(p.config)
	if failed != nil {
		return nil, nil, err
	}
	environ := slices.Clone(a.Env)
	for _, name := range slices.Sorted(maps.Keys(unset)) {
		if p.needs(again, unset[name]) {
			return nil, nil, fail(exitUsage, "%s: variable %s leads to the ledger or names whose it is, and is not set, or empty; nothing was read; set it in the environment of deed, or name the ledger with --ledger", p.config, name)
		}
		environ = append(environ, name+"="+unset[name])
	}
	return again, environ, nil
}

// rulesAlone reads the configuration for whoever asks for nothing but its rules,
// which hold no secret.
func (a *app) rulesAlone(file string) (*policy.Config, error) {
	config, err := a.rules(file, policy.BareOptions{})
	if wrong := new(policy.Error); err != nil && errors.As(err, &wrong) {
		if again, _, failed := a.standingIn(file); failed == nil {
			return again, nil
		}
	}
	return config, err
}

// standingIn reads a configuration with a stand-in for every variable that is not
// set, and says which they are.
func (a *app) standingIn(file string) (*policy.Config, map[string]string, error) {
	unset := map[string]string{}
	config, err := daemon.LoadConfig(file, func(name string) string {
		if value := a.getenv(name); value != "" {
			return value
		}
		unset[name] = standIn(name)
		return unset[name]
	})
	return config, unset, err
}

// standIn is nobody's secret, and has the form of a digest, which some must have.
func standIn(name string) string {
	sum := sha256.Sum256([]byte("unset variable " + name))
	return hex.EncodeToString(sum[:])
}

// needs reports whether the stand-in is part of what finds operations.
func (p place) needs(c *policy.Config, standIn string) bool {
	part := func(text string) bool { return strings.Contains(text, standIn) }
	inLedger := part(c.Ledger.Path) || part(c.Ledger.URL.Text) || part(c.Ledger.Notifications.Text)
	return part(string(c.Actor)) || p.tenant == "" && part(string(c.Tenant)) || p.ledger == "" && inLedger
}
