// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

func begin(ctx context.Context, store deed.Store, n int64) (benchOperation, error) {
	o := newBenchOperation(n)
	_, err := store.Transact(ctx, o.scope, func(deed.View) (deed.Change, error) { return o.begin, nil })
	return o, err
}

func TestAllFilesAreTheOwnersOnly(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "with space, % and ? and #.db")
	ledger := openAt(t, path, sqlite.Options{})
	if _, err := begin(t.Context(), ledger, 1); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(file.Name(), filepath.Base(path))] = info.Mode().String()
	}
	want := map[string]string{"": "-rw-------", "-wal": "-rw-------", "-shm": "-rw-------"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got := rows(t, raw(t, "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)), "PRAGMA application_id"); got[0] != fmt.Sprint(0x64656564) {
		t.Errorf("application_id is %s", got[0])
	}
}

func TestALedgerIsFoundAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := begin(t.Context(), ledger, 1)
	if err != nil {
		t.Fatal(err)
	}
	event := o.begin.Events[0]
	event.ID = "ev_01999999999999999999999999"
	if err := ledger.Append(t.Context(), []deed.Event{event}, deed.Batched); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ledger.Close(); err != nil {
			t.Fatal(err)
		}
	}
	again := openAt(t, path, sqlite.Options{})
	view, err := again.Load(t.Context(), deed.Scope{Tenant: benchTenant, ID: o.id()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o.begin.Put[0], view.Operation); diff != "" {
		t.Errorf("the operation (-want +got):\n%s", diff)
	}
	events, err := again.Events(t.Context(), deed.EventQuery{Tenant: benchTenant})
	if err != nil || len(events) != 2 {
		t.Errorf("events: %v, %v; Close makes batched ones durable", events, err)
	}
}

func TestAClosedLedgerSaysSo(t *testing.T) {
	ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := begin(t.Context(), ledger, 1)
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() {
		_, err := ledger.Watch(t.Context(), benchTenant, o.id(), 1)
		watched <- err
	}()
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	_, began := begin(t.Context(), ledger, 2)
	_, loaded := ledger.Load(t.Context(), o.scope)
	_, set := ledger.Setting(t.Context(), "x", func([]byte) []byte { return nil })
	for name, err := range map[string]error{
		"Watch, which was waiting": <-watched, "Transact": began, "Load": loaded, "Setting": set,
		"Append": ledger.Append(t.Context(), o.begin.Events, deed.Batched),
	} {
		if !errors.Is(err, deed.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
}

func TestManyOpenANewLedgerAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	var group sync.WaitGroup
	for i := range int64(12) {
		group.Go(func() {
			ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := begin(t.Context(), ledger, i+1); err != nil {
				t.Error(err)
			}
			if err := ledger.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ledger := openAt(t, path, sqlite.Options{})
	page, err := ledger.List(t.Context(), deed.Query{Tenant: benchTenant})
	if err != nil || len(page.Operations) != 12 {
		t.Errorf("%d operations, %v", len(page.Operations), err)
	}
}

func TestWhatIsNoLedgerIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
		is   error
	}{
		"a text file": {
			make: func(t *testing.T, path string) { writeFile(t, path, strings.Repeat("not a database\n", 1000)) },
			want: "it is not a SQLite database, or is damaged; nothing was changed; name another file",
		},
		"another program's database": {
			make: func(t *testing.T, path string) {
				execute(t, raw(t, path), "PRAGMA application_id = 7; CREATE TABLE notes (x)")
			},
			want: "it is a SQLite database of another program (application_id 0x7, not 0x64656564)",
		},
		"a database of no program": {
			make: func(t *testing.T, path string) { execute(t, raw(t, path), "CREATE TABLE notes (x)") },
			want: "application_id 0x0",
		},
		"a ledger whose schema is damaged": {
			make: func(t *testing.T, path string) {
				makeLedger(t, path)
				damage(t, path, 112, 3*4096)
			},
			want: "damaged",
		},
		"a ledger of a newer version that cannot be read": {
			make: func(t *testing.T, path string) {
				makeLedger(t, path)
				execute(t, raw(t, path), "PRAGMA user_version = 99; UPDATE ledger SET min_reader = 98")
			},
			want: "it is of version 99, and this program reads up to 2; nothing was changed; use the newer version",
			is:   deed.ErrLedgerVersion,
		},
		"a folder": {
			make: func(t *testing.T, path string) {
				if err := os.Mkdir(path, 0o700); err != nil {
					t.Fatal(err)
				}
			},
			want: "it cannot be opened",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				ledger.Close()
				t.Fatal("it was opened")
			}
			var opening *sqlite.OpenError
			if !errors.As(err, &opening) || !errors.Is(err, deed.ErrUnavailable) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is %T, or matches the wrong errors", err, err)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("it says %q,\nwant %q and the path", err, c.want)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// makeLedger makes a ledger with a few operations and closes it.
func makeLedger(t *testing.T, path string) {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(200) {
		if err := newBenchOperation(n+1).transactBoth(t.Context(), ledger); err != nil {
			t.Fatal(err)
		}
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
}

// damage overwrites part of a file.
func damage(t *testing.T, path string, from, to int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte(strings.Repeat("\xa5", int(to-from))), from); err != nil {
		t.Fatal(err)
	}
}

func TestDamageInsideIsReportedAndNothingIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	makeLedger(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	damage(t, path, 3*4096, info.Size())
	ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil {
		defer ledger.Close()
		_, err = begin(t.Context(), ledger, 1000)
	}
	if !errors.Is(err, deed.ErrUnavailable) || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("err = %v", err)
	}
}

func TestANewerLedgerIsReadButNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	ledger := openAt(t, path, sqlite.Options{})
	o, err := begin(t.Context(), ledger, 1)
	if err != nil {
		t.Fatal(err)
	}
	// A newer program comes along while this one runs.
	execute(t, raw(t, path), "PRAGMA user_version = 99")
	later := openAt(t, path, sqlite.Options{})
	for name, ledger := range map[string]*sqlite.Ledger{"already open": ledger, "opened later": later} {
		t.Run(name, func(t *testing.T) {
			if _, err := begin(t.Context(), ledger, 2); !errors.Is(err, deed.ErrLedgerVersion) || !strings.Contains(err.Error(), "use the newer version of this program") {
				t.Errorf("begin: %v, want ErrLedgerVersion and a remedy", err)
			}
			view, err := ledger.Load(t.Context(), o.scope)
			if err != nil || view.Operation == nil {
				t.Errorf("a replay does not go on: %v", err)
			}
		})
	}
}

// An unprivileged user is needed, whom modes stop: run as root, the test
// continues in a child of another user.
func TestPlacesThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	if os.Getuid() == 0 {
		exe := filepath.Join(folder, "test")
		copyFile(t, os.Args[0], exe)
		home, err := os.MkdirTemp("/tmp", "deed-sqlite-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(home)
		copyFile(t, os.Args[0], filepath.Join(home, "test"))
		for _, path := range []string{home, filepath.Join(home, "test")} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(home, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = []string{"TMPDIR=" + home, "HOME=" + home}
		cmd.Dir = home
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}

	mode := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(path, 0o700) })
	}
	check := func(path, want string) {
		t.Helper()
		ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			ledger.Close()
			t.Fatal("it was opened")
		}
		if !errors.As(err, new(*sqlite.OpenError)) || !errors.Is(err, deed.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want one that says %q", err, want)
		}
	}

	check(filepath.Join(folder, "no such folder", "ledger.db"), "make sure that the folder")

	readable := filepath.Join(folder, "readable.db")
	makeLedger(t, readable)
	mode(readable, 0o400)
	check(readable, "the file or its folder cannot be written")

	locked := filepath.Join(folder, "locked")
	if err := os.Mkdir(locked, 0o700); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(locked, "ledger.db")
	makeLedger(t, inside)
	mode(locked, 0o500)
	check(filepath.Join(locked, "new.db"), "make sure that the folder")
	check(inside, "the file or its folder cannot be written")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o700); err != nil {
		t.Fatal(err)
	}
}
