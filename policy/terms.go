// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/deed-run/deed"
)

// termKeys are the keys that defaults and tools share; initial values are
// those of defaults.
func termKeys[T any](of func(*T) *Terms, initial func(string) string) []key[T] {
	during := func(name, standard string, field func(*Terms) *time.Duration) key[T] {
		return key[T]{name: name, initial: initial(standard), read: func(d *decoder, at place, into *T) {
			d.duration(at, field(of(into)))
		}}
	}
	limited := func(name, standard string, field func(*Terms) *deed.Limit) key[T] {
		return key[T]{name: name, initial: initial(standard), read: func(d *decoder, at place, into *T) {
			d.limit(at, field(of(into)))
		}}
	}
	return []key[T]{
		{name: "mode", initial: initial("enforce"), read: func(d *decoder, at place, into *T) {
			word(d, at, &of(into).Mode, deed.ModeEnforce, deed.ModeObserve)
		}},
		{name: "after_conflict", initial: initial("hold"), read: func(d *decoder, at place, into *T) {
			word(d, at, &of(into).AfterConflict, deed.AfterConflictHold, deed.AfterConflictWarn)
		}},
		{name: "is_error", initial: initial("uncertain"), read: func(d *decoder, at place, into *T) {
			word(d, at, &of(into).IsError, IsErrorUncertain, IsErrorFailed)
		}},
		during("model_window", "24h", func(t *Terms) *time.Duration { return &t.ModelWindow }),
		during("answer_within", "50s", func(t *Terms) *time.Duration { return &t.AnswerWithin }),
		during("timeout", "10m", func(t *Terms) *time.Duration { return &t.Timeout }),
		during("timeout_hard", "1h", func(t *Terms) *time.Duration { return &t.TimeoutHard }),
		during("late", "10m", func(t *Terms) *time.Duration { return &t.Late }),
		during("lease", "30s", func(t *Terms) *time.Duration { return &t.Lease }),
		during("wait", "25s", func(t *Terms) *time.Duration { return &t.Wait }),
		during("max_age", "24h", func(t *Terms) *time.Duration { return &t.MaxAge }),
		during("input_expires", "1h", func(t *Terms) *time.Duration { return &t.InputExpires }),
		during("retention", "720h", func(t *Terms) *time.Duration { return &t.Retention }),
		limited("rate", "600/m", func(t *Terms) *deed.Limit { return &t.Rate }),
		limited("repeat", "20/5m", func(t *Terms) *deed.Limit { return &t.Repeat }),
	}
}

func defaultsKeys() []key[Defaults] {
	keys := []key[Defaults]{
		{name: "unknown_tool", initial: "non_idempotent", read: func(d *decoder, at place, into *Defaults) {
			word(d, at, &into.UnknownTool, UnknownNonIdempotent, UnknownInfer, UnknownDeny)
		}},
		{name: "annotations", initial: "trust", read: func(d *decoder, at place, into *Defaults) {
			word(d, at, &into.Annotations, AnnotationsTrust, AnnotationsIgnore)
		}},
		{name: "key", initial: "required", read: func(d *decoder, at place, into *Defaults) {
			d.need(at, &into.Key)
		}},
		{name: "call_ids", initial: "[claudecode/toolUseId]", read: func(d *decoder, at place, into *Defaults) {
			into.CallIDs = d.texts(at, "names in _meta")
		}},
		{name: "deed_operations", initial: "on", read: func(d *decoder, at place, into *Defaults) {
			answer := "on"
			word(d, at, &answer, "on", "off")
			into.DeedOperations = answer == "on"
		}},
	}
	return append(keys, termKeys(
		func(into *Defaults) *Terms { return &into.Terms },
		func(standard string) string { return standard },
	)...)
}
