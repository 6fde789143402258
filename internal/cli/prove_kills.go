// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/deed-run/deed/faultkit"
)

// proveKills runs a campaign of kills and turns its counts into the exit code.
func (a *app) proveKills(ctx context.Context, o proveOptions, binary string) error {
	options := faultkit.Options{Binary: binary, Fixture: []string{binary, "fixture"}, Door: faultkit.Door(o.door)}
	if o.verbose {
		options.Stderr = a.Stderr
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	var report faultkit.KillReport
	var err error
	if o.syncs {
		report, err = faultkit.SyncKills(ctx, options)
	} else {
		report, err = faultkit.RandomKills(ctx, faultkit.KillOptions{Options: options, Kills: o.kills, Seed: o.seed})
	}
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		err = a.print(append([]string{report.String()}, report.Problems...)...)
	}
	switch {
	case err != nil:
		return err
	case report.Duplicates > 0:
		return exitWith(exitDuplicate)
	case !report.Passed():
		return exitWith(exitFailed)
	}
	return nil
}
