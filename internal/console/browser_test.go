// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a tab of Chromium that looks at a rig's console.
type browser struct {
	*rig
	ctx context.Context
	url string
	mu  sync.Mutex
	// said is what the browser complained about: broken scripts, and whatever
	// the content security policy held back.
	said []string
}

// browse starts Chromium. That it is missing is an error: what only a browser
// can show would go untested.
func browse(t *testing.T, r *rig) *browser {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return browseAt(t, r, listener)
}

func browseAt(t *testing.T, r *rig, listener net.Listener) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: apt-get install chromium")
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(program), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		// Nothing is asked of the world outside.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"),
	)
	ctx, leave := chromedp.NewContext(allocator)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: r.console}}
	server.Start()
	b := &browser{rig: r, ctx: ctx, url: server.URL}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
		leave()
		stop()
		r.console.Close()
		server.Close()
	})
	b.do(chromedp.EmulateViewport(1280, 860))
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch event := event.(type) {
	case *cdplog.EventEntryAdded:
		// What a page of somebody else fails to load is theirs.
		missing := strings.HasPrefix(event.Entry.Text, "Failed to load resource")
		answered := strings.Contains(event.Entry.Text, "the server responded")
		if event.Entry.Level == "error" && !(missing && (answered || !strings.HasPrefix(event.Entry.URL, b.url))) {
			b.said = append(b.said, event.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, fmt.Sprintf("%s %+v", event.ExceptionDetails.Text, event.ExceptionDetails.Exception))
	}
}

// complaints returns what the browser complained about since the last call.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func ask[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v in %s", err, expression)
	}
	return value
}

// until waits for a page to come to say something.
func (b *browser) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	for {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")")); err == nil && ok {
			return
		} else if ctx.Err() != nil {
			b.t.Fatalf("it never came to %s: %v\n%s", expression, err, ask[string](b, "document.body.innerText"))
		}
		// A page that is being left cannot be asked: ask the next one.
		_ = chromedp.Do(ctx, chromedp.Sleep(20*time.Millisecond))
	}
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url+path), chromedp.WaitReady(chromedp.CSS("body")))
}

// enter logs in by the form.
func (b *browser) enter(token string) {
	b.t.Helper()
	b.open("/login")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), token), chromedp.Submit(chromedp.CSS("#token")))
	b.until(`document.querySelector('nav[aria-label="Pages"]') && document.title.startsWith("Overview")`)
}

func (b *browser) theme(name string) {
	b.t.Helper()
	b.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return chromedp.Void{}, err
	})
}

func (b *browser) scripts(on bool) {
	b.t.Helper()
	b.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return chromedp.Void{}, err
	})
}

// axe is the accessibility checker that scripts/setup-tests installs.
func axe(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("DEED_TEST_CACHE")
	if cache == "" {
		cache = filepath.Join("..", "..", ".cache")
	}
	source, err := os.ReadFile(filepath.Join(cache, "npm", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("axe-core is not installed: run scripts/setup-tests: %v", err)
	}
	return string(source)
}
