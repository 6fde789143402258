// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import "time"

// Absence is what the gate judges, for tests.
type Absence struct {
	MaxProcessing, ReadLag, Watched     time.Duration
	BegunAt, SendBy, LookedAt, LastMiss time.Time
	Complete                            bool
	Misses                              int
}

func (a Absence) gate() absence {
	return absence{
		maxProcessing: a.MaxProcessing, readLag: a.ReadLag, begunAt: a.BegunAt, sendBy: a.SendBy, lookedAt: a.LookedAt,
		watched: a.Watched, complete: a.Complete, misses: a.Misses, lastMiss: a.LastMiss,
	}
}

// Passes and Permits ask the gate.
func (a Absence) Passes() bool  { ok, _ := a.gate().passes(); return ok }
func (a Absence) Permits() bool { ok, _ := a.gate().permits(); return ok }

// Judge shows what a verdict amounts to.
func Judge(q Inquest, v Verdict) (VerdictKind, Match) {
	kind, match, _ := q.judge(v)
	return kind, match
}
