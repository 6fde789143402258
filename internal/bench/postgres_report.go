// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strconv"
)

// Rows is the report as one table, its first row the heading.
func (r PostgresReport) Rows() [][]string {
	rows := [][]string{{"WHAT", "CALLERS", "PER SECOND", "P50", "P99", "REMARK"}}
	for _, l := range r.Lines {
		remark := ""
		if l.Peer != "" {
			remark = fmt.Sprintf("%.2fx the rate of the %s", l.OfPeer, l.Peer)
		}
		rows = append(rows, []string{l.Name, strconv.Itoa(l.Callers), perSecond(l.Rate), micros(l.P50), micros(l.P99), remark})
	}
	for _, what := range r.Absent {
		rows = append(rows, []string{"not measured", "-", "-", "-", "-", what})
	}
	return rows
}

// Verdicts is one row per target, its first row the heading.
func (r PostgresReport) Verdicts() [][]string { return Report{Targets: r.Targets}.Verdicts() }

// Missed is the number of targets that were not met.
func (r PostgresReport) Missed() int { return Report{Targets: r.Targets}.Missed() }
