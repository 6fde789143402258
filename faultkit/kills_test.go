// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/deed-run/deed/faultkit"
)

func campaignOptions(bug string) faultkit.Options {
	return faultkit.Options{Binary: os.Args[0], Fixture: []string{fixture}, Env: toyEnv(bug), Stderr: os.Stderr}
}

func TestRandomKillsPassASoundGateway(t *testing.T) {
	report, err := faultkit.RandomKills(t.Context(), faultkit.KillOptions{Options: campaignOptions("none"), Kills: 12, InFlight: 8, Seed: 1})
	must(t, err)
	t.Log(report)
	if !report.Passed() {
		t.Errorf("%s\n%s", report, strings.Join(report.Problems, "\n"))
	}
}

func TestRandomKillsFindAnAttemptThatWasSentBeforeItWasStored(t *testing.T) {
	// Where a kill falls is chance: what a dozen miss, another dozen meets.
	for seed := uint64(1); seed <= 12; seed++ {
		report, err := faultkit.RandomKills(t.Context(), faultkit.KillOptions{Options: campaignOptions("send-before-store"), Kills: 12, InFlight: 8, Seed: seed})
		must(t, err)
		t.Log(report)
		if report.Duplicates > 0 {
			return
		}
	}
	t.Error("no duplicate was found in a hundred and more kills")
}

func TestSyncKillsHitEverySyncOfACall(t *testing.T) {
	report, err := faultkit.SyncKills(t.Context(), campaignOptions("none"))
	must(t, err)
	t.Log(report)
	if !report.Passed() {
		t.Errorf("%s\n%s", report, strings.Join(report.Problems, "\n"))
	}
}
