// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/deed-run/deed/faultkit/caller"
)

// callsPerLife is how many calls a gateway gets before a run counts as unkilled.
// strace counts per thread, so a few calls make sure that one thread syncs often
// enough for every N to be reached.
const callsPerLife = 3

// SyncKills kills the gateway at its Nth sync of a file, N = 1, 2, ... until a
// run ends unkilled, with strace (Linux). After every kill it restarts the gateway
// and repeats the calls. It fails as vacuous when fewer than two kills hit.
func SyncKills(ctx context.Context, o Options) (KillReport, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return KillReport{}, fmt.Errorf("sync kills: %w: nothing was started; install strace", err)
	}
	c, clean, err := o.campaign(ctx, "sync-kills")
	if err != nil {
		return KillReport{}, err
	}
	defer clean()
	// The first life makes the ledger, so that its migrations are not what is hit.
	if err := c.st.start(ctx); err != nil {
		return c.out, err
	}
	if err := c.st.stop(); err != nil {
		return c.out, err
	}
	for n := 1; ; n++ {
		born := len(c.ops)
		killed, err := c.live(ctx, []string{
			strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync",
			"-e", fmt.Sprintf("inject=fdatasync,fsync:signal=SIGKILL:when=%d", n),
		})
		if err != nil {
			return c.out, err
		}
		if err := c.st.start(ctx); err != nil {
			return c.out, err
		}
		if !killed {
			return c.conclude(ctx)
		}
		c.out.Kills++
		c.out.Hits++
		for _, t := range c.ops[born:] {
			t.answers = append(t.answers, send(ctx, c.st.running, t.call))
		}
		if err := c.st.stop(); err != nil {
			return c.out, err
		}
	}
}

// live runs the gateway under a wrapper for a few calls and says whether it was
// killed.
func (c *campaign) live(ctx context.Context, wrap []string) (killed bool, err error) {
	c.last = nil
	g := c.st.gateway
	g.Wrap, g.Env = wrap, append(append([]string{}, g.Env...), "GOMAXPROCS=1")
	running, err := g.Start(ctx)
	if errors.Is(err, caller.ErrNoAnswer) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	c.st.running = running
	for range callsPerLife {
		wait := c.round(ctx, 1)
		wait()
	}
	closed := running.Close()
	status := running.status()
	if closed != nil {
		return false, closed
	}
	return status != nil, nil
}
