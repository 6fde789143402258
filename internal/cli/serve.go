// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/telemetry"
)

func (a *app) serveCommand() *cobra.Command {
	var file, ledger, listen string
	var drain time.Duration
	c := &cobra.Command{
		Use: "serve --config FILE", Short: "Serve the configured MCP servers over HTTP", Args: cobra.NoArgs,
		Long: `Serves MCP at /mcp/{upstream} (Streamable HTTP), the HTTP API under /v1 (described
at /openapi.json), /healthz (the process is up) and
/readyz (the ledger takes writes). Without auth.tokens it serves this machine
only. SIGINT or SIGTERM end it: calls under way may finish first. Its files are read
at the start only: SIGHUP changes nothing, and says so.`,
		Example: "  deed serve --config deed.yaml\n  deed serve --config deed.yaml --listen 127.0.0.1:0",
		RunE: action(func(ctx context.Context, _ []string) error {
			if err := checkListen(listen); err != nil {
				return err
			}
			if drain < 0 {
				return fail(exitUsage, "--drain %s is no time to wait; nothing was started; write a duration such as 60s", drain)
			}
			config, err := a.rules(file, policy.BareOptions{})
			if err != nil {
				return err
			}
			if listen != "" {
				config.Listen = listen
			}
			path, named, err := a.ledgerAt(ledger, config)
			if err != nil {
				return err
			}
			if err := makeDefaultFolder(path, named); err != nil {
				return err
			}
			return a.serve(ctx, daemon.Options{
				Config: config, Ledger: path, Environ: a.Env, Stderr: a.Stderr, Log: a.note,
				Transport: daemon.TransportTCP, Drain: drain, Build: a.build().Version,
			})
		}),
	}
	c.Flags().StringVar(&file, "config", "", "configuration `file`")
	c.Flags().StringVar(&ledger, "ledger", "", "ledger `file` or postgres:// address (see deed help ledger)")
	c.Flags().StringVar(&listen, "listen", "", "`address` in place of the configured one; port 0 takes a free one")
	c.Flags().DurationVar(&drain, "drain", 0, "how long calls under way may go on at the end (default 10s); the first quarter of it, 5s at most, is for balancers to see /readyz say so")
	_ = c.MarkFlagRequired("config")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	return c
}

// checkListen looks at the flag before anything is opened; "" is for the configured address.
func checkListen(address string) error {
	if address == "" {
		return nil
	}
	const remedy = "nothing was started; write HOST:PORT, such as 127.0.0.1:7391, with a port from 0 to 65535; 0 takes a free one"
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fail(exitUsage, "--listen %q is no address to listen on; %s", address, remedy)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fail(exitUsage, "--listen %q: there is no port %s; %s", address, port, remedy)
	}
	return nil
}

// OutlivesHangup reports whether the command of the arguments goes on when its
// terminal hangs up, or when whoever runs it asks it by SIGHUP to read its files anew:
// a gateway does, and says that it reads them at its start only.
func OutlivesHangup(args []string) bool {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return arg == "serve"
		}
	}
	return false
}

// hangups answers SIGHUP until ctx ends.
func (a *app) hangups(ctx context.Context) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	go func() {
		defer signal.Stop(heard)
		for {
			select {
			case <-heard:
				a.note("SIGHUP: the configuration, and the files of tokens and keys that it names, are read at the start only; nothing was read anew, and calls go on; to read them, restart deed serve")
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (a *app) serve(ctx context.Context, o daemon.Options) error {
	about := ledgerNote(o.Ledger)
	telemetry.ReportTo(a.note, deed.SystemClock{})
	serving, served := context.WithCancel(ctx)
	defer served()
	a.hangups(serving)
	d, err := daemon.New(ctx, o)
	if err != nil {
		return err
	}
	if err := d.Start(ctx); err != nil {
		return err
	}
	a.note("listening on http://" + d.Address())
	if token := d.Bootstrap(); token != "" {
		a.note("no auth is configured: the console at http://" + d.Address() + "/ only shows; to decide there, sign in with " + token + ", which is for the console only; deed ops decides on this machine without --server: " + d.Command("ops list"))
	}
	a.note(about.text)
	var failed error
	select {
	case <-ctx.Done():
		a.note("stopping: calls under way may finish")
	case failed = <-d.Failed():
	}
	if err := d.Stop(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return failed
}
