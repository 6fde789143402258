// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// The configuration names a program without .exe.

//go:build !windows

package main_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What the README does with this server, done.
func TestTheExamplesOfTheReadmeRun(t *testing.T) {
	dir := t.TempDir()
	deed, server := filepath.Join(dir, "deed"), filepath.Join(dir, "server")
	run(t, "go", "build", "-o", deed, "github.com/deed-run/deed/cmd/deed")
	run(t, "go", "build", "-o", server, ".")
	shop := free(t)
	config, err := os.ReadFile("deed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "deed.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(config), "127.0.0.1:7400", shop)), 0o600); err != nil {
		t.Fatal(err)
	}
	started(t, dir, "the shop listens on ", []string{"SHOP_ADDRESS=" + shop}, server, "shop")
	gateway := started(t, dir, "listening on ", nil, deed, "serve", "--config", file, "--listen", "127.0.0.1:0")

	refund := func(order, amount string) string {
		return post(t, gateway+"/v1/tools/payments/pay.refund/calls", "", `{"arguments": {"order_id": "`+order+`", "amount": `+amount+`}, "meta": {"run": "R1"}}`)
	}
	order := func() string {
		return post(t, gateway+"/http/shop/orders", "cart-17:order:first", `{"sku": "A1", "count": 1}`)
	}
	holds(t, order(), `{"id":"ord_000001"}`)
	holds(t, order(), `{"id":"ord_000001"}`)
	holds(t, refund("1042", "12"), `"decision":"execute"`, `"ref_000001"`)
	holds(t, refund("1042", "12"), `"decision":"replay"`, `"ref_000001"`)
	waits := refund("1043", "250")
	holds(t, waits, `"decision":"awaiting_approval"`)
	effects(t, dir, "orders.csv", "\"A1\",1\n")
	effects(t, dir, "refunds.csv", "\"1042\",12.00\n")

	id := regexp.MustCompile(`op_[0-9A-Z]{26}`).FindString(waits)
	digest := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(run(t, deed, "ops", "show", id, "--config", file))
	run(t, deed, "ops", "approve", id, "--digest", digest, "--config", file)
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(run(t, deed, "ops", "show", id, "--config", file), "committed"); {
		if time.Now().After(deadline) {
			t.Fatal("what was approved was not sent")
		}
		time.Sleep(100 * time.Millisecond)
	}
	effects(t, dir, "refunds.csv", "\"1042\",12.00\n\"1043\",250.00\n")
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// started runs a program until the test ends, and returns the address that it says.
func started(t *testing.T, dir, says string, env []string, program string, args ...string) string {
	t.Helper()
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, said)
		_ = command.Wait()
	})
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if _, address, found := strings.Cut(lines.Text(), says); found {
			return address
		}
	}
	t.Fatalf("%s did not start", program)
	return ""
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// post sends what curl would; a shop that has not begun to listen was not reached.
func post(t *testing.T, url, key, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func effects(t *testing.T, dir, file, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", file, got, err, want)
	}
}

func holds(t *testing.T, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s:\n%s", want, got)
		}
	}
}
