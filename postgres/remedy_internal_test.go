// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestWhatTheDatabaseSaidIsNamedAsWhatItIs(t *testing.T) {
	for code, says := range map[string]string{
		"57014": "statement_timeout",
		"57P05": "idle_session_timeout",
		"25P03": "idle_in_transaction_session_timeout",
		"57P01": "stopping or starting",
		"57P03": "stopping or starting",
		"25006": "read-only",
		"53100": "make room",
		"53300": "max_connections",
	} {
		if got := remedy(&pgconn.PgError{Code: code}); !strings.Contains(got, says) {
			t.Errorf("%s: %s", code, got)
		}
	}
}
