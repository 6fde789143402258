// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
)

const durationRemedy = "write a number and a unit: 500ms, 30s, 10m or 24h"

// duration reads a positive duration.
func (d *decoder) duration(at place, into *time.Duration) {
	text, ok := written(at.node)
	if !ok {
		d.wrongType(at, "a duration", durationRemedy)
		return
	}
	if _, number := at.node.(*ast.IntegerNode); number {
		d.refuse(at, "duration "+text+" has no unit", durationRemedy)
		return
	}
	value, wrong := parseDuration(text)
	if wrong != "" {
		d.refuse(at, wrong, durationRemedy)
		return
	}
	*into = value
}

func parseDuration(text string) (time.Duration, string) {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil && strings.Contains(err.Error(), "unknown unit"):
		return 0, "duration " + text + " has an unknown unit"
	case err != nil && strings.Contains(err.Error(), "missing unit"):
		return 0, "duration " + text + " has no unit"
	case err != nil:
		return 0, text + " is no duration"
	case value <= 0:
		return 0, "duration " + text + " is not positive"
	}
	return value, ""
}

// limit reads "N/duration", where the duration may be a bare unit: 600/m,
// 20/5m, 100/s.
func (d *decoder) limit(at place, into *deed.Limit) {
	const remedy = "write a number of calls and a duration: 600/m, 20/5m or 100/s"
	text, ok := written(at.node)
	if !ok {
		d.wrongType(at, "a limit", remedy)
		return
	}
	count, per, found := strings.Cut(text, "/")
	if !found {
		d.refuse(at, "limit "+text+" has no duration", remedy)
		return
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		d.refuse(at, "limit "+text+" does not begin with a number", remedy)
		return
	}
	if n <= 0 {
		d.refuse(at, "limit "+text+" is not positive", remedy)
		return
	}
	if per != "" && !strings.ContainsAny(per, "0123456789") {
		per = "1" + per
	}
	value, wrong := parseDuration(per)
	if wrong != "" {
		d.refuse(at, strings.Replace(wrong, "duration "+per, "limit "+text, 1), remedy)
		return
	}
	*into = deed.Limit{N: n, Per: value}
}

// count reads a positive integer up to most.
func (d *decoder) count(at place, most int64, into *int64) {
	text, _ := written(at.node)
	n, err := strconv.ParseInt(text, 10, 64)
	if _, number := at.node.(*ast.IntegerNode); !number || err != nil {
		d.wrongType(at, "a whole number", "write a number")
		return
	}
	if n <= 0 || n > most {
		d.refuse(at, fmt.Sprintf("%d is not within 1 and %d", n, most), "write a number between them")
		return
	}
	*into = n
}

// short prints a duration as one would write it: 10m, not 10m0s.
func short(value time.Duration) string {
	text := value.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
