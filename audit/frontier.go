// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// frontier is a tree that only grows: the roots of its full subtrees, the
// largest first (RFC 6962, section 2.1).
type frontier struct {
	size  int64
	roots []tlog.Hash
}

func (f *frontier) add(record []byte) {
	f.roots = append(f.roots, tlog.RecordHash(record))
	f.size++
	for range bits.TrailingZeros64(uint64(f.size)) {
		last := len(f.roots) - 1
		f.roots = append(f.roots[:last-1], tlog.NodeHash(f.roots[last-1], f.roots[last]))
	}
}

func (f *frontier) root() tlog.Hash {
	if len(f.roots) == 0 {
		empty, _ := tlog.TreeHash(0, nil)
		return empty
	}
	root := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		root = tlog.NodeHash(f.roots[i], root)
	}
	return root
}

// isAt compares the tree with those of the checkpoints that are of this size.
func (f *frontier) isAt(size int64, checkpoints []Checkpoint) error {
	for _, c := range checkpoints {
		if c.Size == size && f.root() != c.Root {
			return fmt.Errorf("%w: of its first %d records the root is %s, and %s was signed", ErrInconsistent, size, f.root(), c.Root)
		}
	}
	return nil
}
