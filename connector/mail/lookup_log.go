// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// logLookup reads the mail server's own log, as Postfix writes it. A mail was accepted when the queue manager has taken it: cleanup logs a
// Message-ID while the text still arrives, also of a mail whose end never came.
type logLookup struct {
	account *Account
	files   []string
}

func (logLookup) Name() string { return "log" }

var (
	logMessageID = regexp.MustCompile(`/cleanup\[\d+\]: ([0-9A-Za-z]{5,20}): message-id=(\S+)\s*$`)
	logActive    = regexp.MustCompile(`/qmgr\[\d+\]: ([0-9A-Za-z]{5,20}): from=<`)
	logStatus    = regexp.MustCompile(`: ([0-9A-Za-z]{5,20}): to=<[^>]*>,.* status=(sent|bounced|deferred|expired|undeliverable)\b`)
	logRequeued  = regexp.MustCompile(`: ([0-9A-Za-z]{5,20}): to=<[^>]*>,.* queued as ([0-9A-Za-z]{5,20})\)`)
	logTime      = regexp.MustCompile(`^(?:([A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d)|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)))\s`)
)

// logged is what the log says of mails that carry one Message-ID.
type logged struct {
	id       string
	named    []string        // queue ids with the Message-ID, in order
	accepted map[string]bool // queue ids that the queue manager has had
	requeued map[string]bool // queue ids that another mail of this log became
	first    time.Time       // the first line with a time
}

// Find reports the queue ids under which the server accepted the mail. It is complete only when the first line is older than since: a log
// that was rotated away says nothing.
func (l logLookup) Find(ctx context.Context, marker string, since time.Time) (Finding, error) {
	if !markerShape.MatchString(marker) {
		return Finding{}, fmt.Errorf("marker %q is not of letters and digits", shorten(marker, 80))
	}
	found := logged{id: l.account.messageID(marker), accepted: map[string]bool{}, requeued: map[string]bool{}}
	for _, name := range l.files {
		if err := l.read(ctx, name, &found); err != nil {
			return Finding{}, err
		}
	}
	var matches []Match
	for _, queue := range found.named {
		// A filter that hands a mail back to the same server gives it a second queue id.
		if found.accepted[queue] && !found.requeued[queue] {
			matches = append(matches, Match{Token: marker, ID: queue})
		}
	}
	finding := Finding{Matches: named(matches, found.id), Note: "read " + strings.Join(l.files, ", ")}
	finding.Complete = !since.IsZero() && !found.first.IsZero() && found.first.Before(since)
	if !finding.Complete {
		finding.Note += "; it cannot be told that the log goes back far enough"
	}
	return finding, nil
}

// maxLogLine bounds a line; longer ones are passed over.
const maxLogLine = 64 << 10

func (l logLookup) read(ctx context.Context, name string, into *logged) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("reading the mail server's log: %w", err)
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, maxLogLine)
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := lines.ReadSlice('\n')
		switch {
		case err == nil:
			into.see(string(line), l.account.options.Now())
		case errors.Is(err, bufio.ErrBufferFull):
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("reading the mail server's log: %w", err)
			}
		case errors.Is(err, io.EOF):
			// A last line without its end is still being written.
			return nil
		default:
			return fmt.Errorf("reading the mail server's log: %w", err)
		}
	}
}

func (g *logged) see(line string, now time.Time) {
	if g.first.IsZero() {
		g.first = timeOf(line, now)
	}
	if found := logMessageID.FindStringSubmatch(line); found != nil {
		if found[2] == g.id {
			g.named = append(g.named, found[1])
		}
		return
	}
	// Only queue ids of this Message-ID are kept, whatever the size of the log; cleanup comes before every other line of them.
	if found := logActive.FindStringSubmatch(line); found != nil {
		g.accept(found[1])
		return
	}
	if found := logStatus.FindStringSubmatch(line); found != nil {
		g.accept(found[1])
	}
	if found := logRequeued.FindStringSubmatch(line); found != nil && g.has(found[1]) {
		g.requeued[found[2]] = true
	}
}

func (g *logged) accept(queue string) {
	if g.has(queue) {
		g.accepted[queue] = true
	}
}

func (g *logged) has(queue string) bool {
	for _, known := range g.named {
		if known == queue {
			return true
		}
	}
	return false
}

// timeOf reads the time of a line. The short form of syslog has no year, and the line is not from the future.
func timeOf(line string, now time.Time) time.Time {
	found := logTime.FindStringSubmatch(line)
	if found == nil {
		return time.Time{}
	}
	if found[2] != "" {
		at, err := time.Parse(time.RFC3339Nano, found[2])
		if err != nil {
			return time.Time{}
		}
		return at
	}
	at, err := time.ParseInLocation(time.Stamp, found[1], now.Location())
	if err != nil {
		return time.Time{}
	}
	at = time.Date(now.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
	if at.After(now.Add(24 * time.Hour)) {
		at = at.AddDate(-1, 0, 0)
	}
	return at
}
