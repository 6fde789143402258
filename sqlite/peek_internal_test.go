// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// A look that fails on the writer's connection, or finds none, is made again on
// another; one that succeeds is not.
func TestALookThatFailsIsMadeAgain(t *testing.T) {
	ledger, err := Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !ledger.writer.peek(func(*connection) error { return nil }) {
		t.Error("nobody writes, and the connection was not used")
	}
	if ledger.writer.peek(func(*connection) error { return errors.New("no") }) {
		t.Error("an error was taken for an answer")
	}
	ledger.writer.turn.Lock()
	if ledger.writer.peek(func(*connection) error { return nil }) {
		t.Error("the connection was used while somebody else did")
	}
	ledger.writer.turn.Unlock()
	looking, looked, closed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go ledger.writer.peek(func(*connection) error { close(looking); <-looked; return nil })
	<-looking
	go func() { closed <- ledger.Close() }()
	select {
	case err := <-closed:
		t.Errorf("it is closed while somebody looks: %v", err)
		closed <- err
	case <-time.After(50 * time.Millisecond):
	}
	close(looked)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if ledger.writer.peek(func(*connection) error { return nil }) {
		t.Error("a closed connection was used")
	}
}
