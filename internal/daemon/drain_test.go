// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/internal/daemon"
)

// With a drain of its own a gateway that ends tells balancers before it takes no new
// calls.
func TestAGatewayThatDrainsIsUnreadyBeforeItTakesNoCalls(t *testing.T) {
	defer goleak.VerifyNone(t)
	config := configuration(t, t.TempDir(), nil)
	d, err := daemon.New(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Drain: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	listening, err := caller.DialHTTP(t.Context(), "http://"+d.Address()+"/mcp/shop", caller.Legacy, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, d, "/readyz"); got != "200 ready" {
		t.Errorf("before: %s", got)
	}
	// As long as the test needs it; after that it ends with the context.
	d.SetNotice(time.Hour)
	ctx, enough := context.WithCancel(context.Background())
	defer enough()
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(ctx) }()
	for got := ""; got != "503 stopping"; {
		if got = get(t, d, "/readyz"); got != "200 ready" && got != "503 stopping" {
			t.Fatalf("while it stops: %s", got)
		}
	}
	if got := charge(t, d, "").Operation; got.Decision != "execute" || got.Status != "committed" {
		t.Errorf("a call that still came: %s %s", got.Decision, got.Status)
	}
	enough()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	_ = listening.Close() // its stream was ended
}

func TestCallsAreStillTakenForAQuarterOfADrain(t *testing.T) {
	for drain, want := range map[time.Duration]time.Duration{0: 0, 8 * time.Second: 2 * time.Second, time.Minute: 5 * time.Second} {
		if got := daemon.NoticeOf(drain); got != want {
			t.Errorf("of a drain of %s: %s, want %s", drain, got, want)
		}
	}
}

// Clients that only listen hold up no gateway that ends.
func TestAGatewayEndsWhileClientsListen(t *testing.T) {
	defer goleak.VerifyNone(t)
	config := configuration(t, t.TempDir(), nil)
	d, err := daemon.New(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Drain: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	d.SetNotice(0)
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	listening, err := caller.DialHTTP(t.Context(), "http://"+d.Address()+"/mcp/shop", caller.Legacy, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	_ = listening.Close() // its stream was ended
}
