// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"net/http"
	"regexp"
	"time"

	"github.com/deed-run/deed"
)

// Rules refine the classification for one tool. The zero value trusts nothing beyond the shipped tables.
type Rules struct {
	// ErrorsAreFailures takes every error result of the tool for a definite refusal (`is_error: failed`).
	ErrorsAreFailures bool
	// Failed lists what the tool's own texts mean; the first match counts.
	Failed  []Failed
	Receipt Pointers
}

// Failed says that an answer whose text matches was a definite refusal.
type Failed struct {
	// Text matches the error's text, Code the code of a JSON-RPC error, Status
	// the HTTP status of the answer; what is nil or 0 matches everything, and a
	// rule with none of them matches nothing. An answer that is no JSON-RPC is
	// matched by rules with a Status only, and their Text is sought in its body.
	Text   *regexp.Regexp
	Code   *int
	Status int
	// RetryAfterRequired: the rule is only about answers with a Retry-After in
	// seconds, which a server that has begun to work does not send.
	RetryAfterRequired bool
	// Final: the same call will be refused again.
	Final bool
	// AnyResult extends the rule to results that are not marked as errors (`on: any`).
	AnyResult bool
	// RetryAfter is when a refusal that is not final may be tried again; the
	// answer's own Retry-After comes before it.
	RetryAfter time.Duration
}

// Pointers say where a success names the thing that it made: RFC 6901 pointers into the whole result.
type Pointers struct {
	System string
	ID     string
	URL    string
	// Require makes a success without the id an unknown outcome.
	Require bool
}

// inputText matches what servers and SDKs say of arguments that they refused before running the tool. Servers also use -32602 for an
// output that did not fit, after the tool has run: outputText wins.
var (
	inputText = regexp.MustCompile(`(?i)input validation error|invalid (tool )?(arguments?|inputs?|params|parameters?)\b|validating "?arguments"?|` +
		`(missing|unexpected|unknown|required|additional) (required )?(argument|parameter|property|properties|input|field)|(unknown|no such) tool|tool [^ ]+ (not found|disabled)`)
	outputText = regexp.MustCompile(`(?i)\boutput|structured ?content|\bresults?\b|\bresponse`)
)

// refusals are texts of error results that mean, in every server seen with them, that nothing was changed. They are anchored: a text that
// merely mentions one of them proves nothing. Validation, missing things, lacking permission and existing things are final.
var refusals = []*regexp.Regexp{
	regexp.MustCompile(`^(MCP error -32602: )?Input validation error: `),
	regexp.MustCompile(`^(Error: )?(MCP error -32602: )?Invalid arguments for (tool )?`),
	regexp.MustCompile(`^(Error: )?validating "arguments": `),
	regexp.MustCompile(`^(Error: )?ENOENT: no such file or directory, (open|stat|lstat|access|realpath|rename|unlink|scandir|mkdir|rmdir) `),
	regexp.MustCompile(`^(Error: )?EEXIST: file already exists, (open|mkdir|link|symlink) `),
	regexp.MustCompile(`^(Error: )?E(ACCES|PERM): (permission denied|operation not permitted), (open|stat|lstat|access|rename|unlink|mkdir|rmdir|scandir) `),
	regexp.MustCompile(`^(Error: )?Access denied - path outside allowed directories`),
	regexp.MustCompile(`^(Error: )?Parent directory does not exist: `),
	regexp.MustCompile(`^(MCP error -3260[12]: )?(Unknown tool: |Tool [A-Za-z0-9_.-]+ (not found|disabled)$)`),
}

// seen is what a rule looks at. A result has no code and stdio no status, so a
// rule that names one is not about them.
type seen struct {
	text   string
	code   *int
	status int
	header http.Header
}

func (f Failed) matches(s seen) bool {
	switch {
	case f.Text == nil && f.Code == nil && f.Status == 0,
		f.Code != nil && (s.code == nil || *s.code != *f.Code),
		f.Status != 0 && s.status != f.Status,
		f.RetryAfterRequired && RetryAfter(s.header) == 0:
		return false
	}
	return f.Text == nil || f.Text.MatchString(s.text)
}

// refusal is the outcome of an answer that the rule is about.
func (f Failed) refusal(s seen) deed.Outcome {
	out := deed.Outcome{Kind: deed.OutcomeRefused, Reason: deed.ReasonRefused, Final: f.Final, RetryAfter: f.RetryAfter, Message: s.text}
	if after := RetryAfter(s.header); after > 0 && !f.Final {
		out.RetryAfter = after
	}
	return out
}
