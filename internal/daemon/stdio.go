// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
)

// drain is how long calls under way may go on after the client has left, and
// how long the rest of an orderly stop may take.
const drain = 10 * time.Second

// StdioOptions say whom a stdio gateway serves.
type StdioOptions struct {
	// Upstream is the configured name of the server.
	Upstream  string
	Principal deed.Principal
	Chaos     Chaos
	// Drain is how long calls in flight may go on after the client has left;
	// by default 10 s.
	Drain time.Duration
}

// ServeStdio serves one client on a pair of streams until in ends or ctx does,
// then lets calls finish and closes the Core. The error matches ErrChaosCrash
// when a played crash ended it: then nothing was closed, as in a real one.
func (c *Core) ServeStdio(ctx context.Context, o StdioOptions, in io.Reader, out io.Writer) error {
	up, ok := c.Upstream(o.Upstream)
	if !ok {
		return fmt.Errorf("upstream %q is not configured; nothing was started", o.Upstream)
	}
	if o.Drain <= 0 {
		o.Drain = drain
	}
	crashed := make(chan struct{})
	server := mcpgate.Stdio{
		Name: o.Upstream, Upstream: up, Principal: o.Principal, Drain: o.Drain,
		Guard: o.Chaos.disturb(c.gate, func() { close(crashed) }),
	}
	var beside background
	if err := beside.start(c); err != nil {
		return errors.Join(err, c.Close(ctx))
	}
	served := make(chan error, 1)
	unheard := context.AfterFunc(ctx, c.ending.begin)
	defer unheard()
	go func() { served <- server.Serve(ctx, endsWith{in, &c.ending}, out) }()
	select {
	case <-crashed:
		return ErrChaosCrash
	case err := <-served:
		beside.stop()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Drain)
		defer cancel()
		return errors.Join(err, c.Close(ending))
	}
}
