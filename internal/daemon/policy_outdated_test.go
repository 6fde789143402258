// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// saying is a gateway whose log is kept.
type saying struct {
	*daemon.Daemon
	mu   sync.Mutex
	said []string
}

func bootSaying(t *testing.T, config *policy.Config) *saying {
	t.Helper()
	s := &saying{}
	d, err := daemon.New(t.Context(), daemon.Options{Config: config, Ledger: daemon.Place(config.Ledger.Path), Environ: os.Environ(), Log: func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said = append(s.said, text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Daemon = d
	return s
}

// telling is what the log says of something.
func (s *saying) telling(of string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.said), func(text string) bool { return !strings.Contains(text, of) })
}

func TestAGatewayWithOtherRulesSaysWhatToDoOnceForEachChange(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	// Each has a server of its own: one provider takes one.
	servers := 0
	with := func(rules map[string]any) *policy.Config {
		servers++
		command := []string{os.Args[0], "fixture", "stdio", "--dir", filepath.Join(dir, fmt.Sprint("provider-", servers))}
		return configuration(t, dir, map[string]any{"upstreams": map[string]any{"shop": map[string]any{"command": command}}, "tools": map[string]any{"shop/pay.charge": rules}})
	}
	older := map[string]any{"effect": "non_idempotent"}
	newer := map[string]any{"effect": "non_idempotent", "matter": []string{"/order_id"}}
	call := func(g *saying, order string) error {
		_, err := clientOf(t, g.Daemon).Call(t.Context(), "shop/pay.charge", "charge:"+order+":first", api.CallRequest{Arguments: json.RawMessage(`{"order_id":"` + order + `","amount":5}`)})
		return err
	}
	refused := func(g *saying, order string) {
		t.Helper()
		var problem *api.ProblemError
		if err := call(g, order); !errors.As(err, &problem) || problem.Problem.Status != 503 || !strings.Contains(problem.Problem.Detail, "restart it with the newer configuration file") {
			t.Errorf("order %s: %v", order, err)
		}
	}
	first, second := bootSaying(t, with(older)), bootSaying(t, with(newer))
	for i, g := range []*saying{first, second} {
		if err := call(g, []string{"o-1", "o-2"}[i]); err != nil {
			t.Fatal(err)
		}
	}
	refused(first, "o-3")
	refused(first, "o-4")
	want := "calls of shop/pay.charge are refused here (policy_outdated), nothing is sent: a gateway on the same ledger has begun to use other rules for it; restart this gateway with the newer configuration file, or the other one where this one has it"
	if got := first.telling("policy_outdated"); len(got) != 1 || got[0] != want {
		t.Errorf("after two refused calls the log says %q", got)
	}
	if got := get(t, first.Daemon, "/readyz"); got != "200 ready, but calls of some tools are refused here (policy_outdated); the log names them" {
		t.Errorf("of refused tools /readyz says %s", got)
	}
	if got := get(t, second.Daemon, "/readyz"); got != "200 ready" || len(second.telling("policy_outdated")) != 0 {
		t.Errorf("the gateway whose rules are in force says %s, and %q", got, second.said)
	}

	// A third with the older file puts the first one's rules in force again.
	third := bootSaying(t, with(older))
	if err := errors.Join(call(third, "o-5"), call(first, "o-6")); err != nil {
		t.Error(err)
	}
	if got := get(t, first.Daemon, "/readyz"); got != "200 ready" {
		t.Errorf("after its rules are in force again /readyz says %s", got)
	}
	fourth := bootSaying(t, with(newer))
	if err := call(fourth, "o-7"); err != nil {
		t.Error(err)
	}
	refused(first, "o-8")
	if got := first.telling("policy_outdated"); len(got) != 2 {
		t.Errorf("after the second change the log says %q", got)
	}
	for _, g := range []*saying{first, second, third, fourth} {
		if err := g.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
