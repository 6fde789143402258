// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

func TestErrorsHaveTheirExitCodes(t *testing.T) {
	covered := map[int]bool{}
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"an error without a name", errors.New("x"), exitFailed},
		{"a configuration that is wrong", &policy.Error{}, exitUsage},
		{"a configuration that cannot be served", &daemon.ConfigError{}, exitUsage},
		{"no such operation", fmt.Errorf("op_1: %w", deed.ErrNotFound), exitNotFound},
		{"an operation of somebody else", fmt.Errorf("op_1: %w", deed.ErrForbidden), exitNotFound},
		{"a transition that is not allowed", &deed.RefusedError{Operation: &deed.Operation{}}, exitRefused},
		{"an operation that has moved meanwhile", deed.ErrVersion, exitRefused},
		{"a ledger that cannot be reached", fmt.Errorf("x: %w", deed.ErrUnavailable), exitUnavailable},
		{"a ledger of a newer version", deed.ErrLedgerVersion, exitUnavailable},
		{"a commit without acknowledgement", deed.ErrCommitUnknown, exitUnavailable},
		{"a command that says so itself", fail(exitDuplicate, "x"), exitDuplicate},
	} {
		covered[c.want] = true
		t.Run(c.name, func(t *testing.T) {
			if got := codeOf(c.err); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	for code := exitDone; code <= exitDuplicate; code++ {
		if code != exitDone && !covered[code] {
			t.Errorf("no case above ends with code %d", code)
		}
		if !strings.Contains(exitHelp, fmt.Sprintf("  %d  ", code)) {
			t.Errorf("code %d is not documented", code)
		}
	}
}

func TestProofsHaveTheirExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		rows []faultkit.Row
		want int
	}{
		{"every scenario passed", []faultkit.Row{{Verdict: faultkit.Pass}}, exitDone},
		{"a broken promise", []faultkit.Row{{Verdict: faultkit.Pass}, {Verdict: faultkit.Wrong}}, exitFailed},
		{"a duplicate", []faultkit.Row{{Verdict: faultkit.Wrong}, {Verdict: faultkit.Duplicated}}, exitDuplicate},
		{"nothing was played", nil, exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &app{Process: Process{Stdout: &bytes.Buffer{}}}
			got := exitDone
			if err := a.judge(faultkit.Report{Rows: c.rows}); err != nil {
				got = codeOf(err)
			}
			if got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestForeignTextCannotSteerTheTerminal(t *testing.T) {
	var out bytes.Buffer
	a := &app{Process: Process{Stderr: &out}}
	a.complain(nil, ran{errors.New("tool \x1b[2Jevil\rsaid\u202e no\nand more")})
	const want = "deed: tool  [2Jevil said  no\ndeed: and more\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
