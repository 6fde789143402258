// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// print writes lines for people.
func (a *app) print(lines ...string) error {
	if _, err := fmt.Fprintln(a.Stdout, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (a *app) printJSON(value any) error {
	out := json.NewEncoder(a.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(value); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// note tells a person something on stderr, so that stdout stays the answer.
func (a *app) note(text string) { _, _ = fmt.Fprintln(a.Stderr, "deed: "+plain(text)) }

// table aligns columns. The first row is the heading; the last column is not
// padded, so nothing trails.
func table(rows [][]string) []string {
	widths := columnWidths(rows)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = plain(cell)
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap))
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// plain makes foreign text safe to show: what a tool or model wrote must not
// steer the terminal or begin lines of its own.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

// when shows a moment as its age and as RFC 3339; a zero time is "-".
func when(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", age(t, now), t.UTC().Format(time.RFC3339))
}

// age is the distance to now in its largest unit or two.
func age(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	switch d := t.Sub(now); {
	case d >= time.Second:
		return "in " + short(d)
	case d > -time.Second:
		return "just now"
	}
	return short(now.Sub(t)) + " ago"
}

func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	if hours := int(d.Hours()) % 24; hours > 0 {
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, hours)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// span is a time behind "the last": a day, 7 days, 36 hours.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	for _, unit := range []struct {
		of   time.Duration
		noun string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		switch n := d / unit.of; {
		case d == 0 || d%unit.of != 0:
		case n == 1:
			return unit.noun
		default:
			return fmt.Sprintf("%d %ss", n, unit.noun)
		}
	}
	return short(d)
}

// size shows bytes in binary units.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// coloured reports whether stdout is a terminal that wants colour
// (no-color.org).
func (a *app) coloured() bool {
	f, ok := a.Stdout.(*os.File)
	if !ok || a.json || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// paint marks whole lines in which one of the words stands.
func (a *app) paint(lines []string, words ...string) []string {
	if !a.coloured() {
		return lines
	}
	painted := make([]string, len(lines))
	for i, line := range lines {
		painted[i] = line
		for _, word := range words {
			if strings.Contains(line, word) {
				painted[i] = "\x1b[33m" + line + "\x1b[0m"
				break
			}
		}
	}
	return painted
}
