// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import "sync"

// recent is a map that keeps the limit newest keys. It is safe for concurrent
// use.
type recent[K comparable, V any] struct {
	limit int

	mu     sync.Mutex
	values map[K]V
	order  []K
	next   int
}

func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = map[K]V{}
	}
	if _, known := r.values[key]; !known {
		if len(r.order) < r.limit {
			r.order = append(r.order, key)
		} else {
			delete(r.values, r.order[r.next])
			r.order[r.next] = key
			r.next = (r.next + 1) % r.limit
		}
	}
	r.values[key] = value
}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok := r.values[key]
	return value, ok
}
