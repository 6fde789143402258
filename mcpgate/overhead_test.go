// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/storetest"
)

// overheadProcess is one of the processes that the benchmark puts before the upstream: nothing but a copier of lines, or the gateway.
func overheadProcess(kind string) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return v == "MCPGATE_OVERHEAD="+kind })
	if kind == "bare" {
		cmd := exec.Command(os.Args[0])
		cmd.Env = env
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		go func() {
			copyLines(in, os.Stdin)
			in.Close()
		}()
		copyLines(os.Stdout, out)
		_ = cmd.Wait()
		return
	}
	store := storetest.NewMemory(deed.SystemClock{})
	policy := hints(func(r *deed.Rule) {
		r.Rate, r.Repeat = deed.Limit{N: 1e9, Per: time.Second}, deed.Limit{N: 1e9, Per: time.Second}
	})
	runtime, err := deed.New(deed.Options{Store: store, Policy: policy})
	if err != nil {
		panic(err)
	}
	gate, err := mcpgate.NewGate(mcpgate.GateOptions{Ledger: runtime, Policy: policy, Pins: &mcpgate.Pins{Settings: store}})
	if err != nil {
		panic(err)
	}
	command := mcpgate.Command{Args: []string{os.Args[0]}, Env: env}
	_ = mcpgate.Stdio{Name: "hostile", Upstream: command, Principal: tester, Guard: gate}.Serve(context.Background(), os.Stdin, os.Stdout)
}

func copyLines(w io.Writer, r io.Reader) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// BenchmarkOverhead measures what a process before a stdio server adds to one call, in the same run: p50-ns is the median round trip.
func BenchmarkOverhead(b *testing.B) {
	const read = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get","arguments":{"path":"/a"}}}`
	const write = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":1,"idempotency_key":"add:order-%020d:first"}}}`
	for _, x := range []struct{ name, kind, call, want string }{
		{"read, no proxy", "", read, "hologram"},
		{"read, line copier", "bare", read, "hologram"},
		{"read, gateway", "gate", read, "hologram"},
		{"write, no proxy", "", write, "added"},
		{"write, gateway", "gate", write, "committed"},
	} {
		b.Run(x.name, func(b *testing.B) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "MCPGATE_UPSTREAM="+os.DevNull)
			if x.kind != "" {
				cmd.Env = append(cmd.Env, "MCPGATE_OVERHEAD="+x.kind)
			}
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			lines := bufio.NewReaderSize(out, 64<<10)
			ask := func(line, want string) {
				b.Helper()
				if _, err := io.WriteString(in, line+"\n"); err != nil {
					b.Fatal(err)
				}
				if got, err := lines.ReadString('\n'); err != nil || !strings.Contains(got, want) {
					b.Fatalf("%s, %v: %q is missing", got, err, want)
				}
			}
			format := func(i int) string {
				if x.call == write {
					return fmt.Sprintf(x.call, i, i)
				}
				return fmt.Sprintf(x.call, i)
			}
			ask(initializeBody, "serverInfo")
			ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`, "inputSchema")
			for i := range 50 {
				ask(format(i), x.want)
			}
			var took []time.Duration
			n := 50
			for b.Loop() {
				line := format(n)
				n++
				start := time.Now()
				ask(line, x.want)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
			in.Close()
			_ = cmd.Wait()
		})
	}
}
