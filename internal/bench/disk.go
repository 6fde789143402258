// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"os"
)

// errMemory: a ledger there would never meet a disk.
var errMemory = errors.New("it is a file system in memory, whose syncs cost nothing")

// diskFolder chooses where ledgers are written. A folder that was named must
// be on a disk; otherwise the temporary folder and the working folder are
// tried.
func diskFolder(named string) (string, error) {
	if named != "" {
		if err := onDisk(named); err != nil {
			return "", fmt.Errorf("folder %s: %w; nothing was measured; name a folder on a disk", named, err)
		}
		return named, nil
	}
	for _, dir := range []string{os.TempDir(), "."} {
		if onDisk(dir) == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("folder %s: %w; nothing was measured; name a folder on a disk with --dir", os.TempDir(), errMemory)
}
