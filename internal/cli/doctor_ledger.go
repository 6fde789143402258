// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
	"github.com/deed-run/deed/sqlite"
)

// enoughSpace is the free space below which doctor warns.
const enoughSpace = 256 << 20

func (a *app) examineLedger(ctx context.Context, ledger daemon.Place, config *policy.Config, at place) []finding {
	folder := filepath.Dir(string(ledger))
	if !ledger.Database() {
		_, err := os.Stat(string(ledger))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return []finding{ok("ledger", "%s is not there yet; it is made by the first deed mcp or deed serve", ledger), examineSpace(nearestFolder(string(ledger)))}
		case err != nil:
			return []finding{ok("ledger", "%v", err).as(broken, "make the file readable for this user, or name another with --ledger")}
		}
	}
	core, err := daemon.Open(ctx, daemon.Options{Config: config, Ledger: ledger, Existing: true, Environ: a.Env})
	var findings []finding
	switch {
	case err != nil && ledger.Database():
		return []finding{ok("ledger", "%v", err).as(broken, "make the database reachable, or name another with --ledger")}
	case err != nil:
		// A file that is no ledger is not to be changed, so its mode is its owner's.
		return []finding{unopened(err), examineSpace(folder)}
	case ledger.Database():
		findings = []finding{examineVersion(ctx, core, ledger)}
	case full(folder):
		findings = []finding{ok("ledger", "%s opens, but there is no room to write in its folder", ledger).as(broken, "make room: every mutation is refused until then"), examineMode(ledger), examineSpace(folder)}
	default:
		findings = append([]finding{examineVersion(ctx, core, ledger), examineMode(ledger), examineSpace(folder)}, examineLog(ledger)...)
	}
	who := deed.Principal{Tenant: config.Tenant, Actor: "doctor", Rights: []deed.Right{deed.RightRead}}
	findings = append(findings, examineClock(ctx, core, who), examineUncertain(ctx, core, who, at))
	if fence, err := core.Fence(ctx); err != nil {
		findings = append(findings, ok("fence", "%v", err).as(broken, "see ledger"))
	} else if fence.Stands() {
		findings = append(findings, ok("fence", "%s", fenceLine(fence, core.Clock.Now())).as(warning, "held: "+at.command("ops list --status awaiting_approval")))
	}
	a.closing(core, &err)
	if err != nil {
		findings = append(findings, ok("ledger", "closing: %v", err).as(broken, ""))
	}
	return findings
}

// unopened tells why a ledger does not open and what to do, once.
func unopened(err error) finding {
	var known *sqlite.OpenError
	if errors.As(err, &known) {
		return ok("ledger", "%s: %s", known.Path, known.Problem).as(broken, known.Remedy+"; delete nothing that you may want to prove")
	}
	return ok("ledger", "%v", err).as(broken, "restore a copy, or name another with --ledger; delete nothing that you may want to prove")
}

func examineVersion(ctx context.Context, core *daemon.Core, path daemon.Place) finding {
	switch newer, err := daemon.WrittenByNewer(ctx, core.Ledger); {
	case newer:
		return ok("ledger", "%s opens", path).as(broken, daemon.Newer)
	case err != nil:
		return ok("ledger", "%s opens, but takes no writes: %v", path, err).as(broken, "every mutation is refused until that is mended")
	}
	return ok("ledger", "%s opens and takes writes", path)
}

func examineMode(path daemon.Place) finding {
	if exposed := path.Exposed(); exposed != "" {
		return ok("ledger mode", "%s", exposed).as(broken, "run chmod 600 "+shellWord(string(path)))
	}
	return ok("ledger mode", "%s may be read by its owner only", path)
}

// nearestFolder is the first folder on the way to a file that exists.
func nearestFolder(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// leastSpace is what SQLite needs for one transaction in its log, with some to spare.
const leastSpace = 256 << 10

func full(folder string) bool {
	free, err := freeBytes(folder)
	return err == nil && free < leastSpace
}

func examineSpace(folder string) finding {
	free, err := freeBytes(folder)
	switch {
	case err != nil:
		return ok("space", "cannot be measured in %s: %v", folder, err).as(warning, "look yourself: a full disk refuses every mutation")
	case free < enoughSpace:
		return ok("space", "%s free in %s", size(free), folder).as(warning, "make room: a full disk refuses every mutation")
	}
	return ok("space", "%s free in %s", size(free), folder)
}

// longLog is the size that the log beside a ledger reaches only while somebody
// keeps it from starting anew: four times that at which gateways wait for readers.
const longLog = 256 << 20

func examineLog(path daemon.Place) []finding {
	info, err := os.Stat(string(path) + "-wal")
	if err != nil || info.Size() < longLog {
		return nil
	}
	return []finding{ok("ledger log", "%s-wal has %s", path, size(info.Size())).
		as(warning, "end the program that stays in a read transaction on the ledger, such as a shell or a backup; the last gateway to stop empties the log")}
}

// examineClock looks for records from the future: leases and retention go by
// the clock.
func examineClock(ctx context.Context, core *daemon.Core, who deed.Principal) finding {
	now := core.Clock.Now()
	page, err := core.Runtime.List(ctx, who, deed.Query{Limit: 1})
	if err != nil {
		return ok("clock", "the newest record cannot be read: %v", err).as(broken, "see ledger")
	}
	if len(page.Operations) > 0 {
		if ahead := page.Operations[0].CreatedAt.Sub(now); ahead > time.Minute {
			return ok("clock", "the newest record is from %s, which is %s ahead of this clock", page.Operations[0].CreatedAt.UTC().Format(time.RFC3339), short(ahead)).
				as(broken, "set the clock (NTP) before anything else: leases and retention go by it")
		}
	}
	return ok("clock", "%s, no record is from the future", now.UTC().Format(time.RFC3339))
}

func examineUncertain(ctx context.Context, core *daemon.Core, who deed.Principal, at place) finding {
	all, err := inTenants(ctx, core, who)
	var oldest *deed.Operation
	if err == nil {
		oldest, err = oldestUncertain(ctx, core, all)
	}
	switch {
	case err != nil:
		return ok("uncertain operations", "%v", err).as(broken, "see ledger")
	case oldest == nil:
		return ok("uncertain operations", "none")
	}
	return ok("uncertain operations", "the oldest is %s of %s, begun %s", oldest.ID, oldest.Tool, age(oldest.CreatedAt, core.Clock.Now())).
		as(warning, "look at the provider; "+at.command("ops show", string(oldest.ID))+" names the commands to decide with; all of them: "+at.command("ops list --status uncertain"))
}
