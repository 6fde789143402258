// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/url"
	"strings"
)

// Kinds of ledgers.
const (
	LedgerSQLite   = "sqlite"
	LedgerPostgres = "postgres"
)

// Ledger says where operations are kept.
type Ledger struct {
	// Driver is [LedgerSQLite] or [LedgerPostgres], and empty when the file names
	// no ledger.
	Driver string
	// Path is the absolute path of the file of SQLite.
	Path string
	// URL is the address of PostgreSQL.
	URL Value
	// Notifications is the address at which PostgreSQL tells what has moved, where
	// that of the ledger leads through a pooler which keeps no sessions.
	Notifications Value
	// Silent: nobody is told, and waiting goes by polling alone.
	Silent bool
}

const ledgerRemedy = "write sqlite: and the path of a file, such as sqlite:deed.db, or postgres://user:${PASSWORD}@host/database"

func (d *decoder) ledger(at place, config *Config) {
	text, ok := d.databaseAddress(at)
	if !ok {
		return
	}
	driver, path, found := strings.Cut(text.Text, ":")
	switch {
	case found && database(driver):
		if d.postgres(at, text) {
			config.Ledger = Ledger{Driver: LedgerPostgres, URL: text}
		}
	case !found || driver != LedgerSQLite:
		d.refuse(at, "names no known kind of ledger", ledgerRemedy)
	case strings.HasPrefix(path, "//"):
		d.refuse(at, "is a URL where a path must stand", ledgerRemedy)
	case path == "" || strings.HasSuffix(path, "/"):
		d.refuse(at, "names no file", ledgerRemedy)
	case strings.ContainsAny(path, "?#"):
		d.refuse(at, "holds options after the path, and there are none", ledgerRemedy)
	default:
		config.Ledger = Ledger{Driver: LedgerSQLite, Path: under(config.Folder, path)}
	}
}

func database(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// notifications reads the key after ledger, to which it belongs.
func (d *decoder) notifications(at place, config *Config) {
	const remedy = "write the address of the database itself, postgres://user:${PASSWORD}@host/database, or off"
	text, ok := d.databaseAddress(at)
	if !ok {
		return
	}
	driver, _, _ := strings.Cut(text.Text, ":")
	switch {
	case config.Ledger.Driver != LedgerPostgres:
		d.refuse(at, "belongs to a ledger in PostgreSQL, and there is none", "remove it, or name the database under ledger")
	case text.Text == "off":
		config.Ledger.Silent = true
	case !database(driver):
		d.refuse(at, "is no address of PostgreSQL", remedy)
	case d.postgres(at, text):
		config.Ledger.Notifications = text
	}
}

// postgres reports whether a text is an address to connect to, and refuses any
// other.
func (d *decoder) postgres(at place, text Value) bool {
	wrong, remedy := CheckDatabase(text.Text)
	if wrong == "" && writtenPassword(text.Source) {
		wrong, remedy = "holds a password, which would be shown with it", "write ${VAR} in its place and set the variable"
	}
	if wrong != "" {
		d.refuse(at, wrong, remedy)
	}
	return wrong == ""
}

func passwordOf(user *url.Userinfo) string {
	password, _ := user.Password()
	return password
}

// writtenPassword reports whether the password of a URL was written out where a
// variable should stand.
func writtenPassword(source string) bool {
	_, rest, _ := strings.Cut(source, "://")
	authority, query, _ := strings.Cut(rest, "/")
	if _, password, found := strings.Cut(query, "password="); found && !strings.HasPrefix(password, "${") {
		return true
	}
	i := strings.LastIndexByte(authority, '@')
	if i < 0 {
		return false
	}
	_, password, _ := strings.Cut(authority[:i], ":")
	return password != "" && !strings.Contains(password, "${")
}
