// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/deed-run/deed"
)

func TestACallerIsToldWhatHappenedAndNotWhere(t *testing.T) {
	inner := &deed.Veiled{Told: "the connection was refused", Err: fmt.Errorf("POST http://10.0.0.7/in: %w", io.EOF)}
	for name, c := range map[string]struct{ text, want string }{
		"a text of somebody's":    {"see https://wiki.example/refunds: no", "see https://wiki.example/refunds: no"},
		"a veiled error":          {inner.Error(), "the connection was refused"},
		"one that was wrapped":    {fmt.Errorf("not sent: %w; nothing left", inner).Error(), "not sent: the connection was refused"},
		"one within another":      {(&deed.Veiled{Told: "no session: " + deed.Told(inner.Error()), Err: inner}).Error(), "no session: the connection was refused"},
		"two that were joined":    {errors.Join(inner, inner).Error(), "the connection was refused"},
		"nothing that was at all": {"", ""},
	} {
		if got := deed.Told(c.text); got != c.want {
			t.Errorf("%s is told as %q, want %q", name, got, c.want)
		}
	}
	if got, want := inner.Error(), "the connection was refused; behind the gateway: POST http://10.0.0.7/in: EOF"; got != want {
		t.Errorf("the record has %q, want %q", got, want)
	}
	for _, err := range []error{fmt.Errorf("tools/list: no answer: %w", inner), fmt.Errorf("tools/list: no answer: %w", &deed.Veiled{Told: "no session", Err: inner})} {
		if got, want := deed.Whole(err), "tools/list: no answer: POST http://10.0.0.7/in: EOF"; got != want {
			t.Errorf("whoever may read addresses reads %q, want %q", got, want)
		}
	}
	if !errors.Is(inner, io.EOF) {
		t.Error("the kind of the error is lost")
	}
}
