// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/server"
)

// stopReport notes which operations become uncertain while a gateway stops: whoever
// stopped it is told, for their callers no longer listen.
type stopReport struct {
	// reach leads the commands that it names to the ledger.
	reach leading

	mu    sync.Mutex
	begun bool
	left  []deed.OperationID
}

func (e *stopReport) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun = true
}

// hear reports whether the operation is named as the gateway ends. What a worker
// settles as unknown, or lets run out, meanwhile is no call that was left.
func (e *stopReport) hear(ctx context.Context, event deed.Event) bool {
	if event.Name != deed.EventUnclear || event.To != deed.StatusUncertain || server.BySettlement(ctx) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		e.left = append(e.left, event.OperationID)
	}
	return e.begun
}

// mostNamed is how many operations a gateway names as it ends.
const mostNamed = 3

// text says what was left without an answer, "" for nothing.
func (e *stopReport) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch n := len(e.left); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf("stopped before 1 call had an answer: %s is uncertain and is not sent again; look with %s", e.left[0], e.reach.command("ops show", string(e.left[0])))
	case n <= mostNamed:
		return fmt.Sprintf("stopped before %d calls had an answer: %s are uncertain and are not sent again; look with %s", n, names(e.left), e.reach.command("ops list --status uncertain"))
	default:
		return fmt.Sprintf("stopped before %d calls had an answer: %s and %d more are uncertain and are not sent again; look with %s",
			n, names(e.left[:mostNamed]), n-mostNamed, e.reach.command("ops list --status uncertain"))
	}
}

// claimsLeft says what becomes of claims that nobody settled.
func claimsLeft(n int) string {
	claims := "1 claim was"
	if n > 1 {
		claims = fmt.Sprintf("%d claims were", n)
	}
	return fmt.Sprintf("stopped before %s settled: the workers may settle at another gateway, or here after the restart; from the end of its lease until then an operation is uncertain", claims)
}

func names(ids []deed.OperationID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, ", ")
}

// endsWith begins the report when its stream ends: the client has left.
type endsWith struct {
	io.Reader
	ending *stopReport
}

func (r endsWith) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.ending.begin()
	}
	return n, err
}
