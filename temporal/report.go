// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/deed-run/deed"
)

// Report is why a guarded Activity returned no result: the details of the
// application error that it failed with, whose type is [ErrorType] of Decision.
type Report struct {
	Decision  deed.Decision    `json:"decision"`
	Reason    deed.Reason      `json:"reason,omitempty"`
	Status    deed.Status      `json:"status,omitempty"`
	Operation deed.OperationID `json:"operation_id,omitempty"`
	// Text is what a person, the Activity or a check said, for people.
	Text string `json:"text,omitempty"`
	// Receipt is set when it was done and only its result is missing: discarded
	// after its retention, or settled by a look-up or a person.
	Receipt *deed.Receipt `json:"receipt,omitempty"`

	retryAfter time.Duration
}

// Done reports whether the operation that the Activity asks for was done, though
// there is no result to return.
func (r Report) Done() bool { return r.Receipt != nil }

// ErrorType is the type of the application error by which an Activity reports
// the decision, for [temporal.RetryPolicy].NonRetryableErrorTypes and for
// Workflows that tell them apart.
func ErrorType(decision deed.Decision) string { return "deed." + string(decision) }

// ReportOf returns the report in an error that a Workflow got from a guarded
// Activity, and false if it holds none.
func ReportOf(err error) (Report, bool) {
	// A Workflow or a child may have wrapped it in failures of its own.
	for failure := (*temporal.ApplicationError)(nil); errors.As(err, &failure); err = failure.Unwrap() {
		var report Report
		if !strings.HasPrefix(failure.Type(), ErrorType("")) || !failure.HasDetails() {
			continue
		}
		if failure.Details(&report) == nil && report.Decision != "" {
			return report, true
		}
	}
	return Report{}, false
}

// reportOf tells how the operation stands: an attempt that was made is told by
// its outcome.
func reportOf(answer deed.Answer) Report {
	r := Report{Decision: answer.Decision, Reason: answer.Reason, Text: answer.Text, Receipt: answer.Receipt(), retryAfter: answer.RetryAfter}
	if op := answer.Operation; op != nil {
		r.Operation, r.Status = op.ID, answer.Effective
	}
	if answer.Decision == deed.Execute {
		switch answer.Effective {
		case deed.StatusFailed:
			r.Decision = deed.Failed
		case deed.StatusUncertain:
			r.Decision = deed.Uncertain
		}
	}
	return r
}

// err is the report as Temporal carries it.
func (r Report) err(cause error, retry bool) error {
	message := fmt.Sprintf("%s (%s): %s", r.Decision, r.Reason, saying[r.Decision])
	if r.Operation != "" {
		message += " [" + string(r.Operation) + "]"
	}
	if r.Text != "" {
		message += ": " + r.Text
	}
	return temporal.NewApplicationErrorWithOptions(message, ErrorType(r.Decision), temporal.ApplicationErrorOptions{
		NonRetryable: !retry, Cause: cause, Details: []any{r}, NextRetryDelay: r.retryAfter,
	})
}

// saying is what each decision means for an Activity that returned no result.
var saying = map[deed.Decision]string{
	deed.Replay:           "it was done before, and its result is not there",
	deed.Execute:          "how it stands is not known yet",
	deed.Conflict:         "the key names another effect; nothing was sent",
	deed.InProgress:       "an attempt is under way; nothing was sent by this one",
	deed.AwaitingApproval: "it waits for a person's consent; nothing was sent",
	deed.Uncertain:        "it may have happened; nothing is sent again until that is settled",
	deed.Failed:           "it is known not to have been done",
	deed.Denied:           "it was refused; nothing was sent by this attempt",
	deed.Expired:          "it never ran, and may not run any more",
}

// temporary are the denials that end without a change of the call.
var temporary = []deed.Reason{
	deed.ReasonRate, deed.ReasonLoop, deed.ReasonStoreUnavailable, deed.ReasonPolicyOutdated, deed.ReasonFenced,
}

// mayRetry reports whether asking again can bring another answer. It never sends
// anything by itself: each retry is decided anew.
func mayRetry(answer deed.Answer) bool {
	switch r := reportOf(answer); r.Decision {
	case deed.InProgress, deed.AwaitingApproval, deed.Execute:
		return true
	case deed.Uncertain:
		return r.Reason != deed.ReasonAbandoned
	case deed.Failed:
		return answer.Operation != nil && answer.Operation.Retryable
	case deed.Denied:
		return slices.Contains(temporary, r.Reason)
	}
	return false
}
