// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// place is where a command finds its rules and its ledger.
type place struct {
	config string
	ledger string
	tenant string
	server string
	// reads: the command works on the ledger and asks no server: it needs no secrets
	// of servers.
	reads bool
}

func (p *place) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.config, "config", "", "configuration `file`")
	c.Flags().StringVar(&p.ledger, "ledger", "", "ledger `file` or postgres:// address (see deed help ledger)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	_ = c.MarkFlagFilename("ledger", "db")
}

func (p *place) tenantFlags(c *cobra.Command) {
	p.flags(c)
	c.Flags().StringVar(&p.tenant, "tenant", "", "tenant (default: all that have operations)")
}

func (p *place) operatorFlags(c *cobra.Command) {
	p.tenantFlags(c)
	c.Flags().StringVar(&p.server, "server", "", "`URL` of a running daemon, in place of a ledger")
}

// repeated writes the flags that lead to the same ledger again.
func (p place) repeated() string {
	var flags []string
	for _, f := range [][2]string{{"--config", p.config}, {"--ledger", daemon.Place(p.ledger).Flag()}, {"--tenant", p.tenant}, {"--server", p.server}} {
		if f[1] != "" {
			flags = append(flags, f[0]+" "+shellWord(f[1]))
		}
	}
	return strings.Join(flags, " ")
}

// command writes a command that works where this one did.
func (p place) command(words ...string) string {
	line := "deed"
	for _, word := range append(words, p.repeated()) {
		if word != "" {
			line += " " + word
		}
	}
	return line
}

func (a *app) surroundings() daemon.Surroundings {
	return daemon.Surroundings{GOOS: runtime.GOOS, Getenv: a.getenv}
}

// rules reads the configuration, or takes the defaults of deed mcp without one.
func (a *app) rules(file string, bare policy.BareOptions) (*policy.Config, error) {
	if file == "" {
		return policy.BareConfig(bare), nil
	}
	config, err := daemon.LoadConfig(file, a.getenv)
	if err != nil {
		return nil, &failure{code: exitUsage, err: err}
	}
	return config, nil
}

// ledgerAt says where the ledger is, and whether anybody named it.
func (a *app) ledgerAt(flag string, config *policy.Config) (at daemon.Place, named bool, err error) {
	if flag != "" {
		if err := daemon.Place(flag).Check(); err != nil {
			return "", false, fail(exitUsage, "--ledger: %w", err)
		}
		return daemon.Place(flag), true, nil
	}
	if at = daemon.ConfiguredLedger(config); at != "" {
		return at, true, nil
	}
	path, err := a.surroundings().DefaultLedger()
	if err != nil {
		return "", false, &failure{code: exitUsage, err: err}
	}
	return daemon.Place(path), false, nil
}

// makeDefaultFolder makes the folder of the ledger that nobody named. That of one
// that was named has to be there.
func makeDefaultFolder(at daemon.Place, named bool) error {
	if named {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(string(at)), 0o700); err != nil {
		return fail(exitUnavailable, "ledger %s: its folder cannot be made: %w; nothing was started; name another with --ledger", at, err)
	}
	return nil
}

// ledgerAbout tells whoever starts a gateway which ledger it uses.
type ledgerAbout struct {
	text string
	// made: the file was not there, so a gateway makes it.
	made bool
}

// ledgerNote looks before the ledger is opened. A ledger that is lost, or not
// the one meant, looks like a new one: that must not pass in silence.
func ledgerNote(at daemon.Place) ledgerAbout {
	if _, err := os.Stat(string(at)); errors.Is(err, fs.ErrNotExist) && !at.Database() {
		return ledgerAbout{text: "made a new ledger, " + at.String() + ": no earlier action is known here", made: true}
	}
	return ledgerAbout{text: "the ledger is " + at.String()}
}

// operator opens the ledger for somebody who looks or decides, beside the
// gateways that use it.
func (a *app) operator(ctx context.Context, p place) (*daemon.Core, deed.Principal, error) {
	config, environ, err := a.rulesFor(p)
	if err != nil {
		return nil, deed.Principal{}, err
	}
	path, _, err := a.ledgerAt(p.ledger, config)
	if err != nil {
		return nil, deed.Principal{}, err
	}
	core, err := daemon.Open(ctx, daemon.Options{Config: config, Ledger: path, Existing: true, Environ: environ, Log: a.note})
	if err != nil {
		return nil, deed.Principal{}, &failure{code: exitUnavailable, err: err}
	}
	who := deed.Principal{
		Tenant: config.Tenant, Actor: deed.Actor(deed.ByOperator + a.person()),
		Rights: []deed.Right{deed.RightCall, deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin},
	}
	if p.tenant != "" {
		who.Tenant = deed.Tenant(p.tenant)
	}
	return core, who, nil
}

// everyone is the operator in each tenant that the command covers: the named
// one, or else that of the configuration and all that have operations.
func everyone(ctx context.Context, at place, core *daemon.Core, who deed.Principal) ([]deed.Principal, error) {
	if at.tenant != "" {
		return []deed.Principal{who}, nil
	}
	return inTenants(ctx, core, who)
}

func inTenants(ctx context.Context, core *daemon.Core, who deed.Principal) ([]deed.Principal, error) {
	tenants, err := core.Ledger.Tenants(ctx)
	if err != nil {
		return nil, &failure{code: exitUnavailable, err: err}
	}
	all := []deed.Principal{who}
	for _, tenant := range tenants {
		if tenant != who.Tenant {
			other := who
			other.Tenant = tenant
			all = append(all, other)
		}
	}
	return all, nil
}

// owner is the operator in the tenant that has the operation. One that none has
// is looked for in the operator's own, which says so.
func owner(ctx context.Context, at place, core *daemon.Core, who deed.Principal, id deed.OperationID) (deed.Principal, error) {
	all, err := everyone(ctx, at, core, who)
	if err != nil {
		return who, err
	}
	for _, in := range all {
		switch _, err := core.Runtime.Get(ctx, in, id); {
		case err == nil, errors.Is(err, deed.ErrDamaged): // it is there
			return in, nil
		case !errors.Is(err, deed.ErrNotFound):
			return who, err
		}
	}
	return who, nil
}

// person is the name of the user of this process at the operating system.
func (a *app) person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if text := a.getenv(name); text != "" {
			return text
		}
	}
	return "unknown"
}
