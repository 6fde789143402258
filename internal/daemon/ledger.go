// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/postgres"
	"github.com/deed-run/deed/sqlite"
)

// Ledger is an open ledger. Close it after everything that uses it.
type Ledger interface {
	deed.Store
	// Tenants lists those that have operations, for operators.
	Tenants(ctx context.Context) ([]deed.Tenant, error)
	Close() error
}

// openLedger opens the ledger. A file that is only looked at must be there
// already; one that a gateway writes is made, in a folder that is there: a volume
// that is not mounted must not look like a ledger without a past. A database keeps
// its own time: clock is nil for the machine's. Its news go by listen; see
// postgres.Options.Listen.
func openLedger(ctx context.Context, at Place, listen string, clock deed.Clock, existing bool) (Ledger, error) {
	if at.Database() {
		options := postgres.Options{Listen: listen}
		if _, usual := clock.(deed.SystemClock); !usual {
			options.Clock = clock
		}
		store, err := postgres.Open(ctx, string(at), options)
		if err != nil {
			return nil, err
		}
		return store, nil
	}
	path := string(at)
	if existing {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("ledger %s: %w: there is no such file; nothing was done; name another with --ledger, or run deed mcp or deed serve first", path, deed.ErrUnavailable)
		}
	}
	store, err := sqlite.Open(ctx, path, sqlite.Options{Clock: clock})
	if err != nil {
		return nil, err
	}
	return store, nil
}

// Newer is what there is to say of a ledger that a newer version wrote.
const Newer = "it was written by a newer deed: this one answers from it and refuses every mutation; use the newer deed"

// WrittenByNewer reports whether a newer version of the program wrote the
// ledger: then it can be read and not written.
func WrittenByNewer(ctx context.Context, ledger Ledger) (bool, error) {
	unchanged := func([]byte) []byte { return nil }
	_, err := ledger.Setting(ctx, "version", unchanged)
	if errors.Is(err, deed.ErrLedgerVersion) {
		return true, nil
	}
	return false, err
}
