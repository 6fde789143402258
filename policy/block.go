// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// key is one key that a block may hold. Tables of keys are the grammar of the
// file: reading, suggestions and the reference all come from them.
type key[T any] struct {
	name string
	// initial is what holds when the key is not written, as one would write it.
	initial string
	// read decodes the value.
	read func(d *decoder, at place, into *T)
	// below lists the keys inside the value, for the reference.
	below func(prefix string) []Key
}

// Key describes one key of deed.yaml, for the reference and for completion.
type Key struct {
	// Path uses * for a name of the writer's choice and [] for list elements:
	// "tools.*.failed[].text".
	Path string
	// Default is what holds when the key is not written; empty when nothing
	// does, or when the outer defaults do.
	Default string
}

// Keys lists every key that the reader knows, in the order of the reference.
func Keys() []Key { return describe("", fileKeys()) }

func describe[T any](prefix string, keys []key[T]) []Key {
	var list []Key
	for _, k := range keys {
		list = append(list, Key{Path: prefix + k.name, Default: k.initial})
		if k.below != nil {
			list = append(list, k.below(prefix+k.name)...)
		}
	}
	return list
}

// below describes the keys of an inner block; between is "." or what stands
// for names and elements.
func below[T any](between string, keys func() []key[T]) func(string) []Key {
	return func(prefix string) []Key { return describe(prefix+between, keys()) }
}

// block reads the keys of a mapping in the order of the table, so that a key
// may rely on the ones before it in the table wherever they stand in the file.
func block[T any](d *decoder, at place, keys []key[T], into *T) {
	entries := d.entries(at)
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.name)
	}
	for _, e := range entries {
		if !slices.Contains(names, e.name) {
			d.unknown(e, names)
		}
	}
	for _, k := range keys {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == k.name })
		if i < 0 {
			continue
		}
		k.read(d, entries[i].value, into)
	}
}

func (d *decoder) unknown(e entry, names []string) {
	remedy := "remove it, or write " + listed(names, "or")
	if near := nearest(e.name, names); near != "" {
		remedy = "write " + near + " instead"
		d.meant = append(d.meant, strings.TrimSuffix(e.key.path, e.name)+near)
	}
	d.refuse(e.key, "is not a key of this block", remedy)
}
