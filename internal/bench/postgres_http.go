// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/deed-run/deed/internal/loopback"
)

// toolServer is an MCP server in this process that answers at once: what is
// measured is the gateway.
func toolServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Method != http.MethodPost {
			http.Error(w, "only POST of JSON-RPC", http.StatusMethodNotAllowed)
			return
		}
		result := `{}`
		switch asked.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"charge","inputSchema":{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number"}}}}]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"charged"}],"structuredContent":{"id":"ch_1","status":"succeeded"}}`
		}
		if asked.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, result)
	}))
}

// fleet is gateways as processes on one database.
type fleet struct {
	urls  []string
	tools *httptest.Server
	ends  []func() error
}

func (r *postgresRun) openFleet(ctx context.Context, database string, gateways int) (f *fleet, err error) {
	f = &fleet{tools: toolServer()}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	config := filepath.Join(r.cluster.Folder, "deed.yaml")
	text := fmt.Sprintf("ledger: %s\nupstreams:\n  payments: {url: %q}\ndefaults: {rate: 1000000/s, repeat: 1000000/s}\ntools:\n  payments/charge: {effect: non_idempotent, key: required, matter: [/order_id]}\n",
		r.cluster.URL(database), f.tools.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return f, err
	}
	for range gateways {
		port, err := loopback.Reserve()
		if err != nil {
			return f, err
		}
		address := port.Address()
		command := exec.Command(r.Program, "serve", "--config", config, "--listen", address)
		var said bytes.Buffer
		command.Stderr = &said
		if err := command.Start(); err != nil {
			return f, errors.Join(err, port.Close())
		}
		f.urls = append(f.urls, "http://"+address+"/v1/tools/payments/charge/calls")
		f.ends = append(f.ends, func() error {
			_ = command.Process.Signal(os.Interrupt)
			if err := command.Wait(); err != nil {
				return errors.Join(fmt.Errorf("%s: %w: %s", command, err, said.Bytes()), port.Close())
			}
			return port.Close()
		})
		if err := awaitHTTP(ctx, "http://"+address+"/readyz"); err != nil {
			return f, fmt.Errorf("%w: %s", err, said.Bytes())
		}
	}
	return f, nil
}

func (f *fleet) close() error {
	var errs []error
	for _, end := range f.ends {
		errs = append(errs, end())
	}
	f.tools.Close()
	return errors.Join(errs...)
}

func awaitHTTP(ctx context.Context, url string) error {
	for until := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s is not ready: %w", url, err)
		}
	}
}

// poster posts payments to URLs in turn, as many connections as callers.
type poster struct {
	client *http.Client
	urls   []string
	// body wraps the arguments.
	body func(arguments string) string
}

func newPoster(urls []string, body func(string) string) *poster {
	return &poster{urls: urls, body: body, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxIdleConns: 1024}}}
}

func (p *poster) post(ctx context.Context, run string, n int) error {
	arguments := fmt.Sprintf(`{"order_id":"order-%s-%07d","amount":%d}`, run, n, n%900+100)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.urls[n%len(p.urls)], strings.NewReader(p.body(arguments)))
	if err != nil {
		return err
	}
	// A request that cannot be sent twice by itself.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", paymentKey(run, n))
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("payment %d: HTTP %d: %s", n, resp.StatusCode, answer)
	}
	return nil
}

// overHTTP compares POST /v1/tools/.../calls with Restate's ingress.
func (r *postgresRun) overHTTP(ctx context.Context) error {
	if r.Program == "" {
		r.absent("HTTP: the path of deed is not given")
		return nil
	}
	name, _, err := r.database(ctx)
	if err != nil {
		return err
	}
	f, err := r.openFleet(ctx, name, 1)
	if err != nil {
		return fmt.Errorf("HTTP: %w", err)
	}
	defer func() { _ = f.close() }()
	deeds := newPoster(f.urls, func(arguments string) string { return `{"arguments":` + arguments + `}` })
	done, again, err := r.postRounds(ctx, "POST /v1/tools", deeds)
	if err != nil {
		return err
	}
	if r.Restate == "" {
		r.absent("Restate: not named; scripts/bench starts it with test/peers/restate/run")
		return nil
	}
	theirs := newPoster([]string{strings.TrimRight(r.Restate, "/") + "/payments/charge"}, func(arguments string) string { return arguments })
	peerDone, peerAgain, err := r.postRounds(ctx, "Restate: one ctx.run", theirs)
	if err != nil {
		return fmt.Errorf("measuring Restate: %w", err)
	}
	r.least("POST /v1/tools, 64 callers: rate beside Restate", ratio(median(done), median(peerDone)), 5)
	r.least("POST /v1/tools, replays: rate beside Restate", ratio(median(again), median(peerAgain)), 1)
	return nil
}

func (r *postgresRun) postRounds(ctx context.Context, name string, p *poster) (done, again []float64, err error) {
	var first, repeats []sample
	for round := range r.PostgresOptions.Rounds {
		r.say("%s, round %d of %d", name, round+1, r.PostgresOptions.Rounds)
		run := fmt.Sprintf("http%d-%d", round, os.Getpid())
		for _, into := range []*[]sample{&first, &repeats} {
			s, err := drive(ctx, callers, r.Calls/2, func(ctx context.Context, n int) error { return p.post(ctx, run, n) })
			if err != nil {
				return nil, nil, err
			}
			*into = append(*into, s)
		}
	}
	return r.line(name, callers, first), r.line(name+", replay", callers, repeats), nil
}

// gateways puts the same load on 1, 2 and 4 gateways.
func (r *postgresRun) gateways(ctx context.Context) error {
	if r.Program == "" {
		return nil
	}
	var single float64
	for _, count := range []int{1, 2, 4} {
		var samples []sample
		name, _, err := r.database(ctx)
		if err != nil {
			return err
		}
		f, err := r.openFleet(ctx, name, count)
		if err != nil {
			return fmt.Errorf("%d gateways: %w", count, err)
		}
		p := newPoster(f.urls, func(arguments string) string { return `{"arguments":` + arguments + `}` })
		for round := range r.PostgresOptions.Rounds {
			r.say("%d gateways, round %d of %d", count, round+1, r.PostgresOptions.Rounds)
			s, err := drive(ctx, callers, r.Calls/2, func(ctx context.Context, n int) error { return p.post(ctx, fmt.Sprintf("fleet%d", round), n) })
			if err != nil {
				return errors.Join(err, f.close())
			}
			samples = append(samples, s)
		}
		rate := median(r.line(fmt.Sprintf("POST /v1/tools, %d gateways", count), callers, samples))
		if err := errors.Join(f.close(), r.drop(ctx, name)); err != nil {
			return err
		}
		if count == 1 {
			single = rate
			continue
		}
		r.least(fmt.Sprintf("%d gateways: rate beside one", count), ratio(rate, single), 0.95)
	}
	return nil
}
