// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"os"
)

// Size is how many bytes the ledger takes: the file of SQLite with its
// write-ahead log, or what the database says of its tables.
func (c *Core) Size(ctx context.Context) (int64, error) {
	if sized, ok := c.Ledger.(interface {
		Size(ctx context.Context) (int64, error)
	}); ok {
		return sized.Size(ctx)
	}
	total := int64(0)
	for _, name := range []string{string(c.place), string(c.place) + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total, nil
}
