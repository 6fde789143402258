// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"hash/fnv"
	"sync/atomic"

	"github.com/deed-run/deed"
)

// job is one request to the writers.
type job struct {
	tenant deed.Tenant
	// scope and change are those of a Transact.
	scope  deed.Scope
	change func(deed.View) (deed.Change, error)
	// events are those of an Append.
	events []deed.Event
	// batched: nobody waits for it.
	batched bool

	taken atomic.Int32
	done  chan struct{}

	// What came of it.
	view     deed.View
	err      error
	panicked any
	put      []*deed.Operation

	// lost is what was sent with a commit that was not acknowledged.
	lost   *deed.Change
	wanted deed.Change
}

// The states of a job: whoever moves it away from waiting owns it.
const (
	jobWaiting = iota
	jobTaken
	jobAbandoned
)

// changeError marks the error of a caller's function, which is returned as it
// is.
type changeError struct{ error }

func (e changeError) Unwrap() error { return e.error }

var errPanicked = errors.New("the change panicked")

// decide calls the change on the view.
func (j *job) decide(view deed.View) (wanted deed.Change, err error) {
	j.view, j.err, j.panicked, j.put = view, nil, nil, nil
	defer func() {
		if r := recover(); r != nil {
			j.panicked, err = r, errPanicked
		}
	}()
	wanted, err = j.change(view)
	if err != nil {
		err = changeError{err}
	}
	return wanted, err
}

// names are what two jobs of one transaction must not share.
func (j *job) names() []string {
	scope := &j.scope
	if j.change == nil {
		return nil
	}
	if scope.ID == "" && len(scope.Keys) == 0 && scope.Tool == "" {
		return moneyNames(scope)
	}
	names := make([]string, 0, 4)
	if scope.ID != "" {
		names = append(names, "i"+string(scope.ID))
	} else {
		for _, key := range scope.Keys {
			names = append(names, "k"+string(key.Family)+"\x00"+string(key.Actor)+"\x00"+key.Text)
		}
	}
	if scope.Tool != "" {
		for _, fingerprint := range scope.Fingerprints {
			names = append(names, "f"+string(scope.Tool)+"\x00"+string(fingerprint))
		}
		for _, matter := range scope.Matters {
			if matter != "" {
				names = append(names, "m"+string(scope.Tool)+"\x00"+string(matter))
			}
		}
	}
	return append(names, moneyNames(scope)...)
}

// slotsOfAKind is the number of rows that a tenant's locks of one kind have
// at most.
const slotsOfAKind = 1 << 18

// slots are the lock rows of the scope: those of fingerprints come before
// those of matters, and those before budgets.
func slots(scope *deed.Scope) []int32 {
	if scope.Tool == "" {
		return moneySlots(scope)
	}
	var list []int32
	for _, fingerprint := range scope.Fingerprints {
		list = append(list, slotOf(scope.Tool, string(fingerprint)))
	}
	for _, matter := range scope.Matters {
		if matter != "" {
			list = append(list, slotsOfAKind+slotOf(scope.Tool, string(matter)))
		}
	}
	return append(list, moneySlots(scope)...)
}

func slotOf(tool deed.Tool, equal string) int32 {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s\x00%s", tool, equal)
	return int32(sum.Sum64() % slotsOfAKind)
}
