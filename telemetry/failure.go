// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import "github.com/deed-run/deed"

// failureOf is the error.type of an answer, "" when it is none: tool_error
// when the tool's own answer is an error, otherwise the reason. A proposal
// that waits for a person is no failure; neither is what observe mode would
// have refused, but what it has sent and recorded may have failed.
func failureOf(answer deed.Answer) string {
	op := answer.Operation
	switch answer.Decision {
	case deed.AwaitingApproval:
		return ""
	case deed.Replay:
		if op != nil && op.ResultIsError {
			return errorTool
		}
		return ""
	case deed.Execute:
		switch {
		case answer.WouldBe != "" && answer.Effective == "":
			return ""
		case op == nil:
			return string(answer.Reason)
		case op.ResultIsError && len(answer.Result) > 0 && op.Status != deed.StatusAwaitingInput:
			return errorTool
		case answer.Effective == deed.StatusFailed, answer.Effective == deed.StatusUncertain:
		default:
			return ""
		}
	}
	reason := answer.Reason
	if answer.Decision == deed.Execute && answer.WouldBe != "" && op != nil {
		reason = op.Reason
	}
	if reason == "" {
		return errorOther
	}
	return string(reason)
}

// describe is the status text of a failed span. It is made of deed's own
// words only: the texts of upstreams and people repeat arguments.
func describe(answer deed.Answer) string {
	switch {
	case answer.Decision == "":
		return "the caller left before there was an answer"
	case answer.Reason == "":
		return string(answer.Decision)
	case answer.Decision == deed.Execute && answer.Effective != "":
		return string(answer.Effective) + ": " + string(answer.Reason)
	}
	return string(answer.Decision) + ": " + string(answer.Reason)
}
