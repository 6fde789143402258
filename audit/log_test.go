// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/deed-run/deed/audit"
)

const logName = "audit.example.org/acme"

type log struct{ dir, private, verifier string }

func newLog(t *testing.T) log {
	t.Helper()
	private, verifier, err := audit.NewKey(logName)
	if err != nil {
		t.Fatal(err)
	}
	l := log{filepath.Join(t.TempDir(), "log"), private, verifier}
	if _, err := audit.Create(l.dir, private); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l log) open(t *testing.T) *audit.Log {
	t.Helper()
	opened, err := audit.Open(l.dir, l.verifier)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func (l log) checkpoint(t *testing.T) audit.Checkpoint {
	t.Helper()
	c, err := l.open(t).Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (l log) grow(t *testing.T, records [][]byte) {
	t.Helper()
	if _, err := audit.Grow(l.dir, l.private, records); err != nil {
		t.Fatal(err)
	}
}

func numbered(from, to int) [][]byte {
	var records [][]byte
	for n := from; n < to; n++ {
		records = append(records, fmt.Appendf(nil, `{"tenant":"acme","event":"ev_%d"}`, n))
	}
	return records
}

// plainRoot is the root of RFC 6962, section 2.1, as it is written there.
func plainRoot(records [][]byte) tlog.Hash {
	switch len(records) {
	case 0:
		root, _ := tlog.TreeHash(0, nil)
		return root
	case 1:
		return tlog.RecordHash(records[0])
	}
	half := 1
	for 2*half < len(records) {
		half *= 2
	}
	return tlog.NodeHash(plainRoot(records[:half]), plainRoot(records[half:]))
}

func TestARootIsThatOfAllRecordsHoweverTheyCame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := newLog(t)
	for size := 0; size < 1500; {
		c := l.checkpoint(t)
		if want := plainRoot(numbered(0, size)); c.Size != int64(size) || c.Root != want {
			t.Fatalf("a log of %d records has the size %d and the root %s, want %s", size, c.Size, c.Root, want)
		}
		if report, err := l.open(t).Verify(t.Context(), nil, ""); err != nil || report.Size != int64(size) {
			t.Fatalf("verifying %d records: %v, %v", size, report, err)
		}
		more := 1 + random.IntN(300)
		l.grow(t, numbered(size, size+more))
		size += more
	}
}

// TestTheFolderIsThatOfTiledLogs reads a log by the words of its specification:
// https://c2sp.org/tlog-tiles.
func TestTheFolderIsThatOfTiledLogs(t *testing.T) {
	l := newLog(t)
	records := numbered(0, 700)
	l.grow(t, records[:256])
	l.grow(t, records[256:650])
	l.grow(t, records[650:])
	hash := func(from, to int) (all []byte) {
		for _, r := range records[from:to] {
			h := tlog.RecordHash(r)
			all = append(all, h[:]...)
		}
		return all
	}
	first, second := plainRoot(records[:256]), plainRoot(records[256:512])
	entries := func(from, to int) (all []byte) {
		for _, r := range records[from:to] {
			all = append(binary.BigEndian.AppendUint16(all, uint16(len(r))), r...)
		}
		return all
	}
	want := map[string][]byte{
		"tile/0/000": hash(0, 256), "tile/0/001": hash(256, 512), "tile/0/002.p/188": hash(512, 700), "tile/1/000.p/2": append(first[:], second[:]...),
		"tile/entries/000": entries(0, 256), "tile/entries/001": entries(256, 512), "tile/entries/002.p/188": entries(512, 700),
		// What earlier checkpoints are read by stays while no full tile has it.
		"tile/0/002.p/138": hash(512, 650), "tile/entries/002.p/138": entries(512, 650), "tile/1/000.p/1": first[:],
	}
	for path, data := range want {
		got, err := os.ReadFile(filepath.Join(l.dir, filepath.FromSlash(path)))
		if err != nil || string(got) != string(data) {
			t.Errorf("%s: %d bytes, %v; want %d", path, len(got), err, len(data))
		}
	}
	err := filepath.WalkDir(l.dir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(l.dir, path)
		name = filepath.ToSlash(name)
		if _, known := want[name]; !known && !d.IsDir() && name != "checkpoint" && name != "lock" {
			t.Errorf("%s is there too", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := os.ReadFile(filepath.Join(l.dir, "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(signed), "\n")
	if lines[0] != logName || lines[1] != "700" || lines[2] != plainRoot(records).String() || lines[3] != "" || !strings.HasPrefix(lines[4], "— "+logName+" ") {
		t.Errorf("the checkpoint is %q", signed)
	}
}

func TestWhatACrashLeftHalfWayIsWrittenAgain(t *testing.T) {
	l := newLog(t)
	l.grow(t, numbered(0, 300))
	before, err := os.ReadFile(filepath.Join(l.dir, "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	// The tiles of another continuation are there, its checkpoint is not.
	other := numbered(5000, 5400)
	copied := log{filepath.Join(t.TempDir(), "copy"), l.private, l.verifier}
	if err := os.CopyFS(copied.dir, os.DirFS(l.dir)); err != nil {
		t.Fatal(err)
	}
	l.grow(t, other)
	if err := os.CopyFS(l.dir, missing{os.DirFS(copied.dir), l.dir}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "checkpoint"), before, 0o600); err != nil {
		t.Fatal(err)
	}
	l.grow(t, numbered(300, 900))
	if report, err := l.open(t).Verify(t.Context(), nil, ""); err != nil || report.Root != plainRoot(numbered(0, 900)) {
		t.Errorf("the log is %v, %v", report, err)
	}
}

func TestOneAppendsAtATime(t *testing.T) {
	l := newLog(t)
	release, err := audit.Holding(l.dir, l.private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Grow(l.dir, l.private, numbered(0, 1)); !errors.Is(err, audit.ErrBusy) {
		t.Errorf("appending beside another: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	l.grow(t, numbered(0, 1))
	if c := l.checkpoint(t); c.Size != 1 {
		t.Errorf("the log has %d records", c.Size)
	}
}

func TestWhoLostTheLockFileDoesNotAppend(t *testing.T) {
	l := newLog(t)
	release, err := audit.Holding(l.dir, l.private)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = release() }()
	c := l.checkpoint(t)
	if err := os.Remove(filepath.Join(l.dir, "lock")); err != nil {
		t.Fatal(err)
	}
	l.grow(t, numbered(0, 300)) // somebody else has it now
	if _, err := audit.Regrow(l.dir, l.private, c, numbered(7, 9)); !errors.Is(err, audit.ErrBusy) {
		t.Errorf("going on from an old checkpoint: %v", err)
	}
	if got := l.checkpoint(t); got.Size != 300 {
		t.Errorf("the log has %d records", got.Size)
	}
}

func TestAReaderOfAnEarlierCheckpointFindsItsTiles(t *testing.T) {
	l := newLog(t)
	l.grow(t, numbered(0, 200))
	before, err := os.ReadFile(filepath.Join(l.dir, "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{230, 256, 700} {
		l.grow(t, numbered(int(l.checkpoint(t).Size), size))
		now, err := os.ReadFile(filepath.Join(l.dir, "checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range [][]byte{before, now} {
			if err := os.WriteFile(filepath.Join(l.dir, "checkpoint"), c, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := l.open(t).Verify(t.Context(), nil, ""); err != nil {
				t.Errorf("of %d records: %v", size, err)
			}
		}
	}
}

func TestALogIsMadeOnce(t *testing.T) {
	l := newLog(t)
	l.grow(t, numbered(0, 3))
	if _, err := audit.Create(l.dir, l.private); !errors.Is(err, audit.ErrExists) {
		t.Errorf("making a log where one is: %v", err)
	}
	if c := l.checkpoint(t); c.Size != 3 {
		t.Errorf("the log has %d records", c.Size)
	}
}

func TestAnotherKeyNeitherReadsNorAppends(t *testing.T) {
	l := newLog(t)
	private, verifier, err := audit.NewKey(logName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Open(l.dir, verifier); !errors.Is(err, audit.ErrNotSigned) {
		t.Errorf("opening with another key: %v", err)
	}
	if _, err := audit.Grow(l.dir, private, numbered(0, 1)); !errors.Is(err, audit.ErrNotSigned) {
		t.Errorf("appending with another key: %v", err)
	}
	for _, wrong := range []string{"", "PRIVATE+KEY+x", verifier, strings.Replace(private, "PRIVATE", "PUBLIC", 1)} {
		if _, err := audit.Grow(l.dir, wrong, numbered(0, 1)); err == nil || strings.Contains(err.Error(), private[len(private)-20:]) {
			t.Errorf("appending with the key %q: %v", wrong, err)
		}
	}
	if c := l.checkpoint(t); c.Size != 0 {
		t.Errorf("the log has %d records", c.Size)
	}
}

func TestANameThatNoNoteCanCarryMakesNoKey(t *testing.T) {
	for _, name := range []string{"", "two words", "a+b", "a\x1b[31mb", "nul\x00", "line\nend", "\xff"} {
		if private, _, err := audit.NewKey(name); err == nil {
			t.Errorf("the name %q got the key %s", name, private)
		}
	}
}
