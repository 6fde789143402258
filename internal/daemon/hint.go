// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strings"

	"github.com/deed-run/deed/policy"
)

// leading are the flags by which deed's other commands find the rules and the ledger of
// this process, in whatever folder a line of its log is pasted.
type leading string

func leadingTo(config *policy.Config, at Place) leading {
	var flags []string
	if config.File != "" {
		flags = append(flags, "--config "+ShellWord(whole(config.File)))
	}
	if at != ConfiguredLedger(config) {
		ledger := at.Flag()
		if !at.Database() {
			ledger = whole(ledger)
		}
		flags = append(flags, "--ledger "+ShellWord(ledger))
	}
	return leading(strings.Join(flags, " "))
}

// command is a command of deed that works where this process does.
func (l leading) command(words ...string) string {
	line := append([]string{"deed"}, words...)
	if l != "" {
		line = append(line, string(l))
	}
	return strings.Join(line, " ")
}

// ShellWord quotes a word for a POSIX shell where that is needed.
func ShellWord(word string) string {
	safe := func(r rune) bool {
		return r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("/._-:@%+=,", r))
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !safe(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
