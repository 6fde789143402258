// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"runtime"
	"strconv"
)

// Report is everything that a run measured. Parts that were left out are nil.
type Report struct {
	Machine    Machine      `json:"machine"`
	Throughput []Throughput `json:"guarded,omitempty"`
	Replays    *Replays     `json:"replays,omitempty"`
	Size       *Size        `json:"size,omitempty"`
	Overhead   []Overhead   `json:"mcp,omitempty"`
	Targets    []Target     `json:"targets"`
}

// Machine says where figures come from.
type Machine struct {
	System     string `json:"system"`
	Processors int    `json:"processors"`
	Go         string `json:"go"`
	Dir        string `json:"dir"`
	// Load is the system's load average at the start, "" where it is not told.
	Load string `json:"load,omitempty"`
}

func machine(dir string) Machine {
	return Machine{
		System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.GOMAXPROCS(0), Go: runtime.Version(), Dir: dir, Load: loadAverage(),
	}
}

// Missed is the number of targets that were not met.
func (r Report) Missed() int {
	missed := 0
	for _, t := range r.Targets {
		if !t.Met {
			missed++
		}
	}
	return missed
}

// Rows is the report as one table, its first row the heading.
func (r Report) Rows() [][]string {
	rows := [][]string{{"WHAT", "PER SECOND", "P50", "P99", "CPU PER CALL", "REMARK"}}
	line := func(what string, rate, p50, p99, cost float64, format string, values ...any) {
		rows = append(rows, []string{what, perSecond(rate), micros(p50), micros(p99), micros(cost), fmt.Sprintf(format, values...)})
	}
	for _, t := range r.Throughput {
		who := fmt.Sprintf("%d callers", t.Callers)
		if t.Callers == 1 {
			who = "1 caller"
		}
		line("guarded call, "+who, t.Rate, t.P50, t.P99, t.Cost, "%.0f %% of the floor's rate, %.2fx its p50", t.OfFloor*100, t.Over)
		line("  floor", t.FloorRate, t.FloorP50, t.FloorP99, t.FloorCost, "the same rows in a bare loop, %d per transaction", t.Callers)
	}
	if p := r.Replays; p != nil {
		line(fmt.Sprintf("replay, %d callers", p.Callers), p.Rate, p.P50, p.P99, p.Cost, "%d hot keys, decision events on", p.HotKeys)
	}
	if s := r.Size; s != nil {
		line(fmt.Sprintf("guarded call, %d in the ledger", s.Operations), 0, s.Claim, 0, 0, "%.2fx an empty ledger's; %.0f bytes per operation", s.ClaimOver, s.BytesPerOperation)
		line("  empty ledger", 0, s.ClaimEmpty, 0, 0, "1 caller")
		line(fmt.Sprintf("replay, %d in the ledger", s.Operations), 0, s.Replay, 0, 0, "%.2fx an empty ledger's; of any old operation %s, %.2fx", s.ReplayOver, micros(s.Old), s.OldOver)
		line("  empty ledger", 0, s.ReplayEmpty, 0, 0, "1 caller")
		line("memory, 64 callers", s.FillRate, 0, 0, 0, "%s resident at most", resident(s.Resident))
	}
	for _, o := range r.Overhead {
		if o.Absent != "" {
			rows = append(rows, []string{"MCP read, " + o.Way, "-", "-", "-", "-", "not measured: " + o.Absent})
			continue
		}
		line("MCP read, "+o.Way, 0, o.Read, o.ReadTail, 0, "adds %s", micros(o.ReadAdded))
		line("MCP mutation, "+o.Way, 0, o.Mutate, o.MutateTail, 0, "adds %s", micros(o.MutateAdded))
	}
	return rows
}

// Verdicts is one row per target, its first row the heading.
func (r Report) Verdicts() [][]string {
	rows := [][]string{{"TARGET", "BOUND", "MEASURED", ""}}
	for _, t := range r.Targets {
		verdict := "met"
		if !t.Met {
			verdict = "missed"
		}
		rows = append(rows, []string{t.Name, t.Bound, t.Measured, verdict})
	}
	return rows
}

func perSecond(rate float64) string {
	if rate == 0 {
		return "-"
	}
	return strconv.FormatFloat(rate, 'f', 0, 64)
}

// micros shows microseconds in the unit that suits them.
func micros(us float64) string {
	switch {
	case us == 0:
		return "-"
	case us >= 1000 || us <= -1000:
		return fmt.Sprintf("%.2f ms", us/1000)
	}
	return fmt.Sprintf("%.0f us", us)
}

func resident(bytes int64) string {
	if bytes == 0 {
		return "memory is not told by this system;"
	}
	return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
}

func kibibytes(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
