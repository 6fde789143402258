// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// frontier is a tree that only grows: the roots of its full subtrees, the
// largest first (RFC 6962, section 2.1). Its hashes are compared with the tiles of
// a log as they become known.
type frontier struct {
	log   *Log
	size  int64
	roots []tlog.Hash
	// tiles are the hashes of the tile of each level that is not full yet, count
	// those that are.
	tiles [][]byte
	count []int64
}

func (f *frontier) add(record []byte) error {
	leaf := tlog.RecordHash(record)
	f.roots = append(f.roots, leaf)
	f.size++
	for range bits.TrailingZeros64(uint64(f.size)) {
		last := len(f.roots) - 1
		f.roots = append(f.roots[:last-1], tlog.NodeHash(f.roots[last-1], f.roots[last]))
	}
	return f.tile(0, leaf)
}

// tile adds a hash to the tile of a level; a full one is a hash of the next.
func (f *frontier) tile(level int, h tlog.Hash) error {
	if level == len(f.tiles) {
		f.tiles, f.count = append(f.tiles, nil), append(f.count, 0)
	}
	f.tiles[level] = append(f.tiles[level], h[:]...)
	if len(f.tiles[level]) < width*tlog.HashSize {
		return nil
	}
	var hashes []tlog.Hash
	for data := f.tiles[level]; len(data) > 0; data = data[tlog.HashSize:] {
		hashes = append(hashes, tlog.Hash(data[:tlog.HashSize]))
	}
	for ; len(hashes) > 1; hashes = hashes[:len(hashes)/2] {
		for i := range len(hashes) / 2 {
			hashes[i] = tlog.NodeHash(hashes[2*i], hashes[2*i+1])
		}
	}
	if err := f.compare(level); err != nil {
		return err
	}
	f.count[level]++
	f.tiles[level] = f.tiles[level][:0]
	return f.tile(level+1, hashes[0])
}

// end compares the tiles that are not full.
func (f *frontier) end() error {
	for level := range f.tiles {
		if err := f.compare(level); err != nil {
			return err
		}
	}
	return nil
}

func (f *frontier) compare(level int) error {
	want := f.tiles[level]
	if len(want) == 0 {
		return nil
	}
	kind, wide := fmt.Sprint(level), len(want)/tlog.HashSize
	got, err := f.log.whole(kind, f.count[level], wide)
	if err != nil || !bytes.HasPrefix(got, want) {
		return fmt.Errorf("%w: the tile %s is not that of its records (%v); restore it from a copy of the log", ErrInconsistent, f.log.path(kind, f.count[level], wide), err)
	}
	return nil
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
