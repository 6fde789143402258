// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"
)

// height is that of a tile in levels of the tree, and width the number of
// hashes, or of entries, in a full one: https://c2sp.org/tlog-tiles.
const (
	height = 8
	width  = 1 << height
)

// path is where a tile, or a bundle of entries, is in the folder of a log.
func (l *Log) path(kind string, n int64, wide int) string {
	name := fmt.Sprintf("%03d", n%1000)
	for n >= 1000 {
		n /= 1000
		name = fmt.Sprintf("x%03d", n%1000) + "/" + name
	}
	if wide < width {
		name += fmt.Sprintf(".p/%d", wide)
	}
	return filepath.Join(l.dir, "tile", kind, filepath.FromSlash(name))
}

func (l *Log) tilePath(t tlog.Tile) string { return l.path(fmt.Sprint(t.L), t.N, t.W) }

// tiles reads hashes from the folder.
type tiles struct{ *Log }

func (t tiles) Height() int { return height }

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {} // the folder has them

func (t tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(list))
	for i, tile := range list {
		all, err := t.whole(fmt.Sprint(tile.L), tile.N, tile.W)
		if err != nil {
			return nil, err
		}
		data[i] = all[:min(len(all), tile.W*tlog.HashSize)]
	}
	return data, nil
}

// hashes reads the tree of a checkpoint; what the folder has is checked against
// the root.
func (l *Log) hashes(c Checkpoint) tlog.HashReader {
	return tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: c.Root}, tiles{l})
}

// grown is a tree with hashes that the folder does not have yet.
type grown struct {
	before tlog.HashReader
	more   map[int64]tlog.Hash
}

func (g grown) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var old []int64
	for _, i := range indexes {
		if _, there := g.more[i]; !there {
			old = append(old, i)
		}
	}
	var known []tlog.Hash
	if len(old) > 0 {
		var err error
		if known, err = g.before.ReadHashes(old); err != nil {
			return nil, err
		}
	}
	list := make([]tlog.Hash, 0, len(indexes))
	for _, i := range indexes {
		if h, there := g.more[i]; there {
			list = append(list, h)
		} else {
			list, known = append(list, known[0]), known[1:]
		}
	}
	return list, nil
}

// add appends the hash of the n-th record.
func (g grown) add(n int64, record []byte) error {
	first := tlog.StoredHashIndex(0, n)
	hashes, err := tlog.StoredHashes(n, record, g)
	for i, h := range hashes {
		g.more[first+int64(i)] = h
	}
	return err
}

var errBundle = errors.New("the bundle of entries is cut")

// bundle reads the first entries of one bundle.
func (l *Log) bundle(n int64, wide int) ([][]byte, error) {
	data, err := l.whole("entries", n, wide)
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, 0, wide)
	for len(data) >= 2 && len(data)-2 >= int(binary.BigEndian.Uint16(data)) {
		end := 2 + int(binary.BigEndian.Uint16(data))
		entries = append(entries, data[2:end])
		data = data[end:]
	}
	if len(data) > 0 || len(entries) != wide && len(entries) != width {
		return nil, fmt.Errorf("%s: %w: it has %d entries", l.path("entries", n, wide), errBundle, len(entries))
	}
	return entries[:wide], nil
}

func bundled(entries [][]byte) []byte {
	var data []byte
	for _, entry := range entries {
		data = binary.BigEndian.AppendUint16(data, uint16(len(entry)))
		data = append(data, entry...)
	}
	return data
}
