// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Check names one verdict of a suite. Ordinal tells apart verdicts that a
// scenario gives more than once under one id, in the order it gives them.
type Check struct {
	Scenario string
	ID       string
	Ordinal  int
}

func (c Check) String() string {
	if c.Ordinal == 0 {
		return c.Scenario + "/" + c.ID
	}
	return fmt.Sprintf("%s/%s#%d", c.Scenario, c.ID, c.Ordinal+1)
}

// Status is a suite's word for the outcome of a check.
type Status string

// The statuses that say whether a server conforms. The suites also write INFO,
// for a thing that was seen, and SKIPPED.
const (
	Success Status = "SUCCESS"
	Failure Status = "FAILURE"
	Warning Status = "WARNING"
)

// Verdict is a check's outcome and the suite's reason for it.
type Verdict struct {
	Status Status
	Reason string
}

// Results holds every verdict of one run of a suite.
type Results map[Check]Verdict

// Count returns how many checks have the status.
func (r Results) Count(status Status) int {
	count := 0
	for _, verdict := range r {
		if verdict.Status == status {
			count++
		}
	}
	return count
}

// List returns the checks with the status in the order of their names.
func (r Results) List(status Status) []string {
	var checks []string
	for check, verdict := range r {
		if verdict.Status == status {
			checks = append(checks, check.String())
		}
	}
	slices.Sort(checks)
	return checks
}

// Compare returns a line for every check whose status is not the same in both
// runs, and nothing when they agree.
func Compare(direct, through Results) []string {
	checks := map[Check]bool{}
	for _, results := range []Results{direct, through} {
		for check := range results {
			checks[check] = true
		}
	}
	var differences []string
	for check := range maps.Keys(checks) {
		one, two := direct[check], through[check]
		if one.Status != two.Status {
			differences = append(differences, fmt.Sprintf("%s: directly %s, through the gateway %s",
				check, describe(one), describe(two)))
		}
	}
	slices.Sort(differences)
	return differences
}

func describe(v Verdict) string {
	switch {
	case v.Status == "":
		return "not run"
	case v.Reason == "":
		return string(v.Status)
	default:
		return fmt.Sprintf("%s (%s)", v.Status, v.Reason)
	}
}

// outputFolder is how the suites name the folder of a scenario's results: the
// role, the scenario, and the time of the run.
var outputFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z$`)

// ReadResults reads the folder that a suite was told to write to with -o.
func ReadResults(folder string) (Results, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the suite's results: %w", err)
	}
	results := Results{}
	for _, entry := range entries {
		name := outputFolder.FindStringSubmatch(entry.Name())
		if name == nil {
			return nil, fmt.Errorf("read the suite's results: %s does not name a scenario", entry.Name())
		}
		if err := results.readScenario(name[1], filepath.Join(folder, entry.Name(), "checks.json")); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (r Results) readScenario(scenario, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the verdicts of %s: %w", scenario, err)
	}
	var checks []struct {
		ID           string `json:"id"`
		Status       Status `json:"status"`
		ErrorMessage string `json:"errorMessage"`
	}
	if err := json.Unmarshal(data, &checks); err != nil {
		return fmt.Errorf("read the verdicts of %s in %s: %w", scenario, file, err)
	}
	for _, check := range checks {
		key := Check{Scenario: scenario, ID: check.ID}
		for _, taken := r[key]; taken; _, taken = r[key] {
			key.Ordinal++
		}
		r[key] = Verdict{Status: check.Status, Reason: check.ErrorMessage}
	}
	return nil
}
