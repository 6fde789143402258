// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

// The exit codes; exitHelp explains them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitRefused     = 4
	exitUnavailable = 5
	exitDuplicate   = 6
)

const exitHelp = `  0  done
  1  failed: the command could not do its work, or a check found something
  2  usage or configuration: nothing was started
  3  not found, or not yours to see
  4  refused: the operation does not allow it where it stands
  5  the ledger is unavailable: missing, unreadable, full, or of a newer version
  6  prove found a duplicate effect
`

// failure is an error of a command that ran, with its exit code. Its text says
// what happened, what was not done, and what to do next.
type failure struct {
	code int
	err  error
	// told: everything has been printed already.
	told bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(code int, format string, values ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, values...)}
}

// exitWith ends a command whose output already says what is wrong.
func exitWith(code int) error {
	return &failure{code: code, err: errors.New("see the output"), told: true}
}

// codeOf sorts an error that a command returned.
func codeOf(err error) int {
	var own *failure
	var wrongFile *policy.Error
	var unservable *daemon.ConfigError
	var refused *deed.RefusedError
	switch {
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &wrongFile), errors.As(err, &unservable):
		return exitUsage
	case errors.As(err, &refused), errors.Is(err, deed.ErrVersion), errors.Is(err, deed.ErrLookedUp):
		return exitRefused
	case errors.Is(err, deed.ErrNotFound), errors.Is(err, deed.ErrForbidden):
		return exitNotFound
	case errors.Is(err, deed.ErrUnavailable), errors.Is(err, deed.ErrLedgerVersion), errors.Is(err, deed.ErrCommitUnknown):
		return exitUnavailable
	}
	return exitFailed
}

// ran marks what a command's own code returned; every other error of cobra is
// about usage.
type ran struct{ error }

func (r ran) Unwrap() error { return r.error }

// action wraps the body of a command.
func action(body func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := body(cmd.Context(), args); err != nil {
			return ran{err}
		}
		return nil
	}
}

// complain prints an error, once and in one place, and returns the exit code.
func (a *app) complain(command *cobra.Command, err error) int {
	code, text := exitUsage, err.Error()
	if r, ok := errors.AsType[ran](err); ok {
		code = codeOf(r.error)
		if own, ok := errors.AsType[*failure](r.error); ok && own.told {
			return code
		}
	} else {
		text = misuse(command, err) + "; nothing was done; see " + command.CommandPath() + " --help"
	}
	if a.json {
		line, _ := json.Marshal(map[string]any{"error": text, "exit_code": code})
		_, _ = fmt.Fprintln(a.Stderr, string(line))
		return code
	}
	for line := range strings.SplitSeq(text, "\n") {
		_, _ = fmt.Fprintln(a.Stderr, "deed: "+plain(line))
	}
	return code
}

func lowerFirst(text string) string {
	if len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z' {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}
