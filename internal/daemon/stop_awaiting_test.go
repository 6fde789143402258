// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/provider"
	"github.com/deed-run/deed/internal/daemon"
)

// Where nobody reaches a gateway any more nobody settles there, either.
func TestAGatewayThatStoppedServingAwaitsNoClaim(t *testing.T) {
	lines := make(chan string, 100)
	d := draining(t, func(text string) { lines <- text })
	claim, err := bearing(t, d, "").Claim(t.Context(), refund("refund:order-1:first"))
	if err != nil || claim.Decision != deed.Execute {
		t.Fatalf("%+v, %v", claim, err)
	}
	if err := d.StopListening(); err != nil {
		t.Fatal(err)
	}
	if err := <-d.Failed(); err == nil {
		t.Error("it failed without an error")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = d.Stop(ctx)
	if ctx.Err() != nil {
		t.Error("it waited for a claim")
	}
	wantLine(t, lines, "stopped before 1 claim was settled")
}

// wantLine looks for the line among those that were logged.
func wantLine(t *testing.T, lines chan string, want string) {
	t.Helper()
	close(lines)
	var all []string
	for line := range lines {
		if strings.Contains(line, want) {
			return
		}
		all = append(all, line)
	}
	t.Errorf("it does not say %q:\n%s", want, strings.Join(all, "\n"))
}

// A call whose outcome is lost while claims are awaited is counted with those that are
// left when they are settled.
func TestACallThatIsLostWhileClaimsAreAwaitedIsCounted(t *testing.T) {
	dir := t.TempDir()
	fixture, err := faultkit.StartFixture(t.Context(), []string{os.Args[0], "fixture"}, filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	defer fixture.Close()
	if err := fixture.SetFaults(t.Context(), provider.Fault{Fault: provider.CommitHang, Times: 1}); err != nil {
		t.Fatal(err)
	}
	config := configuration(t, dir, map[string]any{
		"upstreams": map[string]any{"shop": map[string]any{"command": fixture.Upstream()}},
		"programs":  map[string]any{"billing": map[string]any{}},
		"tools":     map[string]any{"billing/refund": map[string]any{"effect": "non_idempotent", "key": "required", "lease": "1h"}},
	})
	lines := make(chan string, 100)
	d, err := daemon.New(t.Context(), daemon.Options{
		Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Drain: time.Hour, Log: func(text string) { lines <- text },
	})
	if err != nil {
		t.Fatal(err)
	}
	d.SetNotice(0)
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	worker := bearing(t, d, "")
	claim, err := worker.Claim(t.Context(), refund("refund:order-1:first"))
	if err != nil || claim.Decision != deed.Execute {
		t.Fatalf("%+v, %v", claim, err)
	}
	lost := make(chan string, 1)
	go func() { lost <- string(charge(t, d, "").Operation.Status) }()
	if err := fixture.AwaitHeld(t.Context(), "pay.charge", 1); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(context.Background()) }()
	refusing(t, worker)
	if err := fixture.Release(t.Context(), "pay.charge"); err != nil {
		t.Fatal(err)
	}
	if status := <-lost; status != string(deed.StatusUncertain) {
		t.Errorf("the call is %s", status)
	}
	if _, err := worker.Settle(t.Context(), claim.OperationID, api.SettleRequest{
		Attempt: claim.Attempt, ClaimToken: "worker-1:refund:order-1:first", Outcome: api.SettleUnknown,
	}); err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	wantLine(t, lines, "stopped before 1 call had an answer: ")
}
