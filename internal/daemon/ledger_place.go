// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/postgres"
)

// Place is where a ledger is: the path of an SQLite file, or the address of a
// PostgreSQL database. An address may hold a password: print the Place, never
// its text.
type Place string

// Database reports whether the ledger is a database that many machines share.
func (p Place) Database() bool {
	return strings.HasPrefix(string(p), "postgres://") || strings.HasPrefix(string(p), "postgresql://")
}

// Check refuses an address that cannot be meant. Its text shows no part of the
// address, in which a password may have come to stand anywhere.
func (p Place) Check() error {
	wrong, remedy := "", ""
	scheme, _, found := strings.Cut(string(p), ":")
	switch {
	case p.Database():
		wrong, remedy = policy.CheckDatabase(string(p))
	case found && (strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql")), strings.Contains(string(p), "://"):
		wrong, remedy = "is neither a file nor an address of PostgreSQL", "write a path, or postgres://user@host:5432/database"
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("the address of the ledger %s; nothing was opened; %s", wrong, remedy)
}

// String names the ledger without user, password and settings.
func (p Place) String() string {
	if !p.Database() {
		return string(p)
	}
	u, err := url.Parse(string(p))
	if err != nil || p.Check() != nil {
		return "postgres (its address cannot be read)"
	}
	return "postgres://" + u.Host + u.EscapedPath()
}

// Flag is the text by which a command finds the ledger again, without the
// password of an address.
func (p Place) Flag() string {
	if !p.Database() {
		return string(p)
	}
	u, err := url.Parse(string(p))
	if err != nil || u.User == nil || p.Check() != nil {
		return p.String()
	}
	u.User = url.User(u.User.Username())
	settings := u.Query()
	settings.Del("password")
	u.RawQuery = settings.Encode()
	return u.String()
}

// Exposed says in how far others than its owner may read a ledger file, or "".
// Windows keeps no such mode, and a database has rules of its own.
func (p Place) Exposed() string {
	if p.Database() || runtime.GOOS == "windows" {
		return ""
	}
	info, err := os.Stat(string(p))
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("%s has mode %04o: others may read arguments and results", p, info.Mode().Perm())
}

// ConfiguredLedger is the ledger that a configuration names, empty when it
// names none.
func ConfiguredLedger(config *policy.Config) Place {
	if config.Ledger.Driver == policy.LedgerPostgres {
		return Place(config.Ledger.URL.Text)
	}
	return Place(config.Ledger.Path)
}

// notifications says where the ledger's news are told and heard, as
// postgres.Options.Listen has it: empty for the ledger's own address, which is
// also what holds for a ledger that the configuration does not name.
func notifications(config *policy.Config, at Place) string {
	switch {
	case at != ConfiguredLedger(config):
		return ""
	case config.Ledger.Silent:
		return postgres.NoListen
	}
	return config.Ledger.Notifications.Text
}
