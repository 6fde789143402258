// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/deed-run/deed/faultkit"
)

// notProved sorts the errors of a run that judged nothing, or nothing more. What was
// judged before is printed.
func (a *app) notProved(o proveOptions, arguments json.RawMessage, report faultkit.Report, err error) error {
	held, waits := errors.AsType[*faultkit.HeldError](err)
	switch {
	case waits:
		remedy := "give --args that the rules let through, or prove with a --config whose rules let them through"
		if held.Waits() {
			remedy = "there is nothing to approve: the checks keep a ledger of their own; " + remedy
		}
		err = fail(exitRefused, "%w; %s; %s says why", err, remedy,
			place{config: o.config}.command("config explain", shellWord(o.tool), shellWord(string(filled(arguments)))))
	case errors.Is(err, context.Canceled):
		err = fail(exitFailed, "interrupted; what was being played is not judged")
	default:
		err = &failure{code: exitUsage, err: err}
	}
	if len(report.Rows) == 0 {
		return err
	}
	if judged := a.judge(report); codeOf(judged) == exitDuplicate {
		return judged
	}
	return err
}
