// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import "github.com/deed-run/deed"

// idArrays, keyArrays and laneArrays are what requests ask for, one array to
// a column.
type idArrays struct {
	n     []int32
	id    []string
	later []bool
}

func (a *idArrays) add(n int, scope *deed.Scope) {
	a.n = append(a.n, int32(n))
	a.id = append(a.id, indexedText(string(scope.ID)))
	a.later = append(a.later, scope.Later)
}

type keyArrays struct {
	n, rank             []int32
	text, family, actor []string
	generation          []int32
	lineage, later      []bool
}

func (a *keyArrays) add(n, rank int, key deed.Key, scope *deed.Scope) {
	a.n = append(a.n, int32(n))
	a.rank = append(a.rank, int32(rank))
	a.text = append(a.text, indexedText(key.Text))
	a.family = append(a.family, indexedText(string(key.Family)))
	a.actor = append(a.actor, indexedText(string(key.Actor)))
	a.generation = append(a.generation, int32(key.Generation))
	a.lineage = append(a.lineage, scope.Lineage || key.Generation != 0)
	a.later = append(a.later, scope.Later)
}

type laneArrays struct {
	n           []int32
	tool, equal []string
}

func (a *laneArrays) add(n int, tool, equal string) {
	a.n = append(a.n, int32(n))
	a.tool = append(a.tool, tool)
	a.equal = append(a.equal, indexedText(equal))
}

// bindArrays are keys that are about to name operations.
type bindArrays struct {
	text, family, actor   []string
	generation            []int32
	provenance, operation []string
}

func (a *bindArrays) add(key deed.Key, id deed.OperationID) {
	a.text = append(a.text, indexedText(key.Text))
	a.family = append(a.family, indexedText(string(key.Family)))
	a.actor = append(a.actor, indexedText(string(key.Actor)))
	a.generation = append(a.generation, int32(key.Generation))
	a.provenance = append(a.provenance, storedText(string(key.Provenance)))
	a.operation = append(a.operation, indexedText(string(id)))
}

// eventArrays are events that are about to be appended.
type eventArrays struct {
	place             []int32
	id, operation     []string
	version, at       []int64
	name, actor       []string
	attempt           []int32
	from, to, reason  []string
	tool, fingerprint []string
	data              [][]byte
	deliveredID       []string
	deliveredAt       []int64
}

func (a *eventArrays) add(place int, event *deed.Event) {
	a.place = append(a.place, int32(place))
	a.id = append(a.id, indexedText(string(event.ID)))
	a.operation = append(a.operation, indexedText(string(event.OperationID)))
	a.version = append(a.version, event.Version)
	a.at = append(a.at, event.At.UnixMicro())
	a.name = append(a.name, storedText(string(event.Name)))
	a.actor = append(a.actor, storedText(string(event.Actor)))
	a.attempt = append(a.attempt, int32(event.Attempt))
	a.from = append(a.from, storedText(string(event.From)))
	a.to = append(a.to, storedText(string(event.To)))
	a.reason = append(a.reason, storedText(string(event.Reason)))
	a.tool = append(a.tool, indexedText(string(event.Tool)))
	a.fingerprint = append(a.fingerprint, indexedText(string(event.Fingerprint)))
	a.data = append(a.data, event.Data)
	if event.Name == deed.Delivered {
		a.deliver(event)
	}
}

// deliver notes the first delivery of an operation.
func (a *eventArrays) deliver(event *deed.Event) {
	id := indexedText(string(event.OperationID))
	for _, known := range a.deliveredID {
		if known == id {
			return
		}
	}
	a.deliveredID = append(a.deliveredID, id)
	a.deliveredAt = append(a.deliveredAt, event.At.UnixMicro())
}

// steps append the events and mark what was delivered.
func (a *eventArrays) steps(tenant string, writer int64) []step {
	var steps []step
	if len(a.id) > 0 {
		steps = append(steps, step{sql: sqlInsertEvents, rows: len(a.id), args: []any{tenant, writer, a.place, a.id, a.operation, a.version, a.at, a.name,
			a.actor, a.attempt, a.from, a.to, a.reason, a.tool, a.fingerprint, a.data}})
	}
	if len(a.deliveredID) > 0 {
		steps = append(steps, step{sql: sqlDeliver, rows: len(a.deliveredID), args: []any{repeat(tenant, len(a.deliveredID)), a.deliveredID, a.deliveredAt}})
	}
	return steps
}
