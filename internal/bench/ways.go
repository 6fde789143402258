// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/internal/loopback"
)

// The ways to the same tool server.
const (
	wayDirect = "direct"
	wayRelay  = "line-copying proxy"
	wayDeed   = "deed mcp"
	wayServe  = "deed serve (HTTP)"
	wayProxy  = "npm mcp-proxy (HTTP)"
)

// way is an open session to a tool server of its own.
type way struct {
	name    string
	session caller.Session
	close   func() error
}

// startTimeout bounds how long a process may take until it answers.
const startTimeout = 30 * time.Second

// openWays starts every way. Those that need what is not there are left out.
func (r *run) openWays(ctx context.Context) (ways []way, err error) {
	defer func() {
		if err != nil {
			closeWays(ways)
		}
	}()
	for _, one := range []struct {
		name string
		open func(context.Context, string) (way, error)
	}{
		{wayDirect, r.openDirect}, {wayRelay, r.openRelay}, {wayDeed, r.openDeed}, {wayServe, r.openServe}, {wayProxy, r.openProxy},
	} {
		if one.name == wayProxy && len(r.MCPProxy) == 0 {
			continue
		}
		r.files++
		dir := filepath.Join(r.folder, fmt.Sprintf("way-%d", r.files))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return ways, err
		}
		opening, cancel := context.WithTimeout(ctx, startTimeout)
		w, err := one.open(opening, dir)
		cancel()
		if err != nil {
			return ways, fmt.Errorf("%s: %w", one.name, err)
		}
		w.name = one.name
		ways = append(ways, w)
	}
	return ways, nil
}

func closeWays(ways []way) error {
	var errs []error
	for _, w := range ways {
		errs = append(errs, w.close())
	}
	return errors.Join(errs...)
}

// upstream is the command of the tool server, with ledgers of its own in dir.
func (r *run) upstream(dir string) []string {
	return []string{r.Program, "fixture", "stdio", "--dir", filepath.Join(dir, "fixture")}
}

func (r *run) openDirect(ctx context.Context, dir string) (way, error) {
	return r.stdio(ctx, r.upstream(dir))
}

func (r *run) openRelay(ctx context.Context, dir string) (way, error) {
	return r.stdio(ctx, append([]string{r.Program, "bench", "relay", "--"}, r.upstream(dir)...))
}

func (r *run) stdio(ctx context.Context, command []string) (way, error) {
	s, err := caller.StartStdio(ctx, caller.Command{Path: command[0], Args: command[1:]})
	if err != nil {
		return way{}, err
	}
	return way{session: s, close: s.Close}, nil
}

func (r *run) openDeed(ctx context.Context, dir string) (way, error) {
	return r.gateway(ctx, dir, faultkit.Stdio, "")
}

func (r *run) openServe(ctx context.Context, dir string) (way, error) {
	port, err := loopback.Reserve()
	if err != nil {
		return way{}, err
	}
	w, err := r.gateway(ctx, dir, faultkit.HTTP, port.Address())
	if err != nil {
		return way{}, errors.Join(err, port.Close())
	}
	end := w.close
	w.close = func() error { return errors.Join(end(), port.Close()) }
	return w, nil
}

func (r *run) gateway(ctx context.Context, dir string, door faultkit.Door, address string) (way, error) {
	file := filepath.Join(dir, "deed.yaml")
	if err := os.WriteFile(file, gatewayConfig(filepath.Join(dir, "ledger.db"), address, r.upstream(dir)), 0o600); err != nil {
		return way{}, err
	}
	g, err := faultkit.Gateway{Binary: r.Program, Config: file, Upstream: "bench", Door: door, Address: address, Dir: dir}.Start(ctx)
	if err != nil {
		return way{}, err
	}
	return way{session: g, close: g.Close}, nil
}

// gatewayConfig is a deed.yaml with the defaults, but for the limits on calls
// per minute, which a benchmark meets at once.
func gatewayConfig(ledger, address string, command []string) []byte {
	text := fmt.Appendf(nil, "ledger: %q\n", "sqlite:"+ledger)
	if address != "" {
		text = fmt.Appendf(text, "listen: %q\n", address)
	}
	text = append(text, "defaults: {rate: 1000000/s, repeat: 1000000/5m}\ntools:\n  bench/pay.get: {effect: read_only}\nupstreams:\n  bench:\n    command:\n"...)
	for _, word := range command {
		text = fmt.Appendf(text, "      - %q\n", word)
	}
	return text
}

// openProxy starts npm's mcp-proxy, which serves a stdio server over HTTP.
func (r *run) openProxy(ctx context.Context, dir string) (way, error) {
	port, err := loopback.Reserve()
	if err != nil {
		return way{}, err
	}
	address := port.Address()
	command := append(append([]string{}, r.MCPProxy...), "--host", "127.0.0.1", "--port", strconv.Itoa(port.Number), "--server", "stream", "--")
	command = append(command, r.upstream(dir)...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stderr, cmd.Stdout = dir, io.Discard, io.Discard
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return way{}, errors.Join(err, port.Close())
	}
	stop := func() error {
		_ = cmd.Process.Signal(os.Interrupt)
		ended := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer ended.Stop()
		_ = cmd.Wait()
		return port.Close()
	}
	if err := awaitPort(ctx, address); err != nil {
		return way{}, errors.Join(err, stop())
	}
	s, err := caller.DialHTTP(ctx, "http://"+address+"/mcp", caller.Legacy, http.Header{})
	if err != nil {
		return way{}, errors.Join(err, stop())
	}
	return way{session: s, close: func() error { return errors.Join(s.Close(), stop()) }}, nil
}

// awaitPort tries to connect until something listens.
func awaitPort(ctx context.Context, address string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("nothing listens on %s: %w", address, ctx.Err())
		}
	}
}
