// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"pgregory.net/rapid"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

const frameHeader, framePage = 24, 4096

// memoryFile is a file as far as a log needs one; it fails when it is told to.
type memoryFile struct {
	vfs.File
	data  []byte
	syncs int
	fail  error
}

func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	if end := int(at) + len(p); end > len(f.data) {
		f.data = append(f.data, make([]byte, end-len(f.data))...)
	}
	return copy(f.data[at:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.data = f.data[:min(size, int64(len(f.data)))]
	return nil
}

func (f *memoryFile) Sync(vfs.SyncFlag) error { f.syncs++; return nil }
func (f *memoryFile) Size() (int64, error)    { return int64(len(f.data)), nil }

// Whatever is called in whatever order, the file has what it would have without
// the frameLog, but for a header that was written by the very last call, and
// during a COMMIT for the frames that were.
func TestALogLacksNothingButTheHeaderWrittenLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, under := &memoryFile{}, &memoryFile{}
		log := sqlite.FrameLog(under)
		gathering := rapid.Bool().Draw(t, "gathering")
		if gathering {
			sqlite.Gather(log)
		}
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			at := int64(rapid.IntRange(0, 3).Draw(t, "frame")) * (frameHeader + framePage)
			fill := func(size int) []byte { return bytes.Repeat([]byte{byte(rapid.IntRange(1, 250).Draw(t, "fill"))}, size) }
			write := func(data []byte, at int64) {
				n, err := log.WriteAt(data, at)
				if n != len(data) || err != nil {
					t.Fatalf("wrote %d of %d: %v", n, len(data), err)
				}
				if _, err := plain.WriteAt(data, at); err != nil {
					t.Fatal(err)
				}
			}
			call := rapid.SampledFrom([]string{"header", "header", "page", "page", "elsewhere", "log header", "read", "size", "truncate", "sync"}).Draw(t, "call")
			switch call {
			case "header":
				write(fill(frameHeader), at)
				continue
			case "page":
				write(fill(framePage), at+frameHeader)
				if gathering {
					continue
				}
			case "elsewhere":
				write(fill(100), at+frameHeader+1)
			case "log header":
				write(fill(32), 0)
			case "read":
				mine, want := make([]byte, 5000), make([]byte, 5000)
				n, err := log.ReadAt(mine, at)
				m, wantErr := plain.ReadAt(want, at)
				if n != m || !errors.Is(err, wantErr) || !bytes.Equal(mine, want) {
					t.Fatalf("read %d bytes (%v), want %d (%v)", n, err, m, wantErr)
				}
			case "size":
				n, _ := log.Size()
				if m, _ := plain.Size(); n != m {
					t.Fatalf("the size is %d, want %d", n, m)
				}
			case "truncate":
				if err := errors.Join(log.Truncate(at), plain.Truncate(at)); err != nil {
					t.Fatal(err)
				}
			case "sync":
				if err := log.Sync(0); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(under.data, plain.data) {
				t.Fatalf("after a call that was no header (%s) the file differs", call)
			}
		}
	})
}

// A header whose write failed must not be tried again later: SQLite has rolled
// back, and another process may write there.
func TestAHeaderWhoseWriteFailedIsGone(t *testing.T) {
	header, page := bytes.Repeat([]byte{1}, frameHeader), bytes.Repeat([]byte{2}, framePage)
	for name, next := range map[string]func(vfs.File) error{
		"its page": func(log vfs.File) error { _, err := log.WriteAt(page, frameHeader); return err },
		"another":  func(log vfs.File) error { _, err := log.WriteAt(header, 5000); return err },
		"a read":   func(log vfs.File) error { _, err := log.ReadAt(make([]byte, 1), 0); return err },
		"a sync":   func(log vfs.File) error { return log.Sync(0) },
		"the size": func(log vfs.File) error { _, err := log.Size(); return err },
		"a cut":    func(log vfs.File) error { return log.Truncate(0) },
	} {
		t.Run(name, func(t *testing.T) {
			file := &memoryFile{fail: errors.New("the disk is gone")}
			log := sqlite.FrameLog(file)
			if _, err := log.WriteAt(header, 0); err != nil {
				t.Fatal(err)
			}
			if err := next(log); err == nil || !strings.Contains(err.Error(), file.fail.Error()) {
				t.Fatalf("the next call returned %v", err)
			}
			file.fail = nil
			if err := log.Sync(0); err != nil || len(file.data) > 0 {
				t.Errorf("%d bytes were written later (%v)", len(file.data), err)
			}
		})
	}
}

// What a COMMIT that failed has kept must not be written later.
func TestACommitThatIsNotSyncedLeavesNothingForLater(t *testing.T) {
	header, page := bytes.Repeat([]byte{1}, frameHeader), bytes.Repeat([]byte{2}, framePage)
	for name, last := range map[string][]byte{"a frame": page, "a header": header} {
		t.Run(name, func(t *testing.T) {
			file := &memoryFile{}
			log := sqlite.FrameLog(file)
			sqlite.Gather(log)
			at := int64(0)
			for _, p := range [][]byte{header, page, header, last} {
				if n, err := log.WriteAt(p, at); n != len(p) || err != nil {
					t.Fatalf("wrote %d of %d: %v", n, len(p), err)
				}
				at += int64(len(p))
			}
			sqlite.EndGather(log)
			// The next transaction may begin where this one would have gone on.
			if _, err := log.WriteAt(header, at); err != nil {
				t.Fatal(err)
			}
			if _, err := log.WriteAt(page, at+frameHeader); err != nil {
				t.Fatal(err)
			}
			if want := append(make([]byte, at), append(header, page...)...); !bytes.Equal(file.data, want) {
				t.Errorf("the file has %d bytes, want the frame that was written last alone, at %d", len(file.data), at)
			}
		})
	}
}

// A commit of the ledger writes its frames by one call, at most 1 MiB of them,
// before the sync that makes it durable.
func TestTheFramesOfACommitAreWrittenAtOnce(t *testing.T) {
	var calls []string
	count := func(call string) func(string) error {
		return func(file string) error {
			if strings.HasSuffix(file, "-wal") {
				calls = append(calls, call)
			}
			return nil
		}
	}
	hook := &hooks{write: func(file string, data []byte, _ int64) error {
		return count(fmt.Sprint(len(data)/(frameHeader+framePage), " frames"))(file)
	}, sync: count("sync")}
	ledger := openAt(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{VFS: registerVFS(t, hook)})
	first, large := newBenchOperation(1), newBenchOperation(2)
	large.begin.Put[0].Arguments = fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("x", 2_000_000))
	if err := first.transactBoth(t.Context(), ledger); err != nil {
		t.Fatal(err)
	}
	calls = nil
	for _, o := range []benchOperation{newBenchOperation(3), large} {
		if _, err := ledger.Transact(t.Context(), deed.Scope{Tenant: benchTenant}, func(deed.View) (deed.Change, error) { return o.begin, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(calls) < 5 || calls[1] != "sync" || calls[len(calls)-1] != "sync" || slices.Contains(calls[2:len(calls)-1], "sync") || len(calls) > 6 {
		t.Errorf("two commits, the second of 2 MB, made the calls %q; want one write and a sync, then two or three writes and a sync", calls)
	}
}

// Every frame reaches the operating system by one write; and what a transaction
// wrote that does not fit into the cache, whose pages SQLite replaces in the log
// and whose checksums it corrects before it commits, is readable afterwards.
func TestFramesAreWrittenWholeAndReadBack(t *testing.T) {
	var pages, frames, corrected, others int
	name := registerVFS(t, &hooks{write: func(file string, data []byte, _ int64) error {
		if strings.HasSuffix(file, "-wal") {
			switch len(data) {
			case framePage:
				pages++
			case frameHeader + framePage:
				frames++
			case frameHeader:
				corrected++
			default:
				others++
			}
		}
		return nil
	}})
	path := filepath.Join(t.TempDir(), "plain.db")
	open := func(name string) *sqlite3.Conn {
		db, err := sqlite3.Open(fmt.Sprintf("file:%s?vfs=%s", filepath.ToSlash(path), name))
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open(sqlite.Framing(name))
	const small = `UPDATE t SET b = b + 1 WHERE a = 100`
	steps := []string{
		`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0`,
		`CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c TEXT)`,
		`BEGIN`,
		`INSERT INTO t SELECT value, 0, hex(zeroblob(400)) FROM generate_series(1, 500)`,
		`UPDATE t SET b = b + 1`, `UPDATE t SET b = b + 1`,
		`COMMIT`,
		`BEGIN`, `UPDATE t SET b = 100`, `ROLLBACK`,
		`BEGIN`, `UPDATE t SET b = b + 1 WHERE a < 100`, `COMMIT`,
		small,
	}
	for _, step := range steps {
		if step == small {
			if pages == 0 || frames < 100 || corrected == 0 || others != 1 {
				t.Errorf("large transactions: %d pages were replaced, %d frames written, %d headers corrected, and %d other writes; want some of each, and the log's header", pages, frames, corrected, others)
			}
			pages, frames, corrected, others = 0, 0, 0, 0
		}
		if err := db.Exec(strings.ReplaceAll(step, "generate_series(1, 500)", `(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 500) SELECT value FROM n)`)); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	if pages != 0 || frames == 0 || corrected != 0 || others != 0 {
		t.Errorf("a small transaction: %d pages without their header, %d headers without their page, %d frames and %d other writes; want frames only", pages, corrected, frames, others)
	}
	read := open("os")
	defer read.Close()
	s, _, err := read.Prepare(`SELECT (SELECT sum(b) FROM t), (SELECT group_concat(integrity_check) FROM pragma_integrity_check)`)
	if err != nil || !s.Step() {
		t.Fatal(err, s.Err())
	}
	if sum, check := s.ColumnInt(0), s.ColumnText(1); sum != 2*500+99+1 || check != "ok" {
		t.Errorf("the sum is %d, want %d; the check says %q", sum, 2*500+99+1, check)
	}
	if err := errors.Join(s.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
}
