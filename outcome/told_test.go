// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

func TestACallerIsToldTheKindOfATransportErrorAndDeedsOwnWords(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 443}, Err: syscall.ECONNREFUSED}
	late := &deed.LateError{Operation: "op_1", Attempt: 1, Elapsed: 45 * time.Second, Lease: 30 * time.Second}
	for want, err := range map[string]error{
		"connection refused": fmt.Errorf("POST http://10.0.0.7: %w", refused),
		late.Error():         fmt.Errorf("%w (%w)", late, refused),
		"transport":          fmt.Errorf("10.0.0.7 is odd"),
	} {
		if got := outcome.Told(err); got != want {
			t.Errorf("%v is told as %q, want %q", err, got, want)
		}
		if got, want := deed.Told(outcome.Transport(err, outcome.NothingWritten).Message), want+": nothing was written"; got != want {
			t.Errorf("its outcome is told as %q, want %q", got, want)
		}
	}
}
