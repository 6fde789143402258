// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package problems_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/problems"
)

var recorded = &deed.Operation{ID: "op_1"}

func TestWordsSayWhatIsEstablished(t *testing.T) {
	const again = "ask again later, under the same key"
	const lookUp = "do not repeat it under another key: look the effect up and resolve the operation"
	for name, c := range map[string]struct {
		status int
		answer deed.Answer
		shape  string
		want   problems.Words
	}{
		"a key of another effect": {422, deed.Answer{Decision: deed.Conflict, Reason: deed.ReasonKeyReused}, "",
			problems.Words{Kind: "conflict", Title: "Idempotency-Key is already used", Detail: "nothing was sent; this key names another effect: send what it named, or name the new action anew"}},
		"another answer to a question": {422, deed.Answer{Decision: deed.Conflict, Reason: deed.ReasonInputDiffers}, "",
			problems.Words{Kind: "conflict", Title: "The question was answered otherwise", Detail: "nothing was sent; the first answer to a question of the tool counts"}},
		"an answer to no question that waits": {422, deed.Answer{Decision: deed.Conflict, Reason: deed.ReasonInputDiffers, Effective: deed.StatusAwaitingInput}, "",
			problems.Words{Kind: "conflict", Title: "The answer fits no open question", Detail: "nothing was sent; the question of the tool still waits for its first answer"}},
		"under way, perhaps by this request": {409, deed.Answer{Decision: deed.InProgress, Reason: deed.ReasonLeaseLive}, "",
			problems.Words{Kind: "in-progress", Title: "A request is outstanding for this Idempotency-Key", Detail: "nothing was sent twice; " + again}},
		"a question waits": {409, deed.Answer{Decision: deed.InProgress, Reason: deed.ReasonAwaitingInput}, "",
			problems.Words{Kind: "in-progress", Title: "The tool asked a question", Detail: "nothing was sent by this request; the operation waits for the answer to the question in result"}},
		"a person must agree": {202, deed.Answer{Decision: deed.AwaitingApproval}, "",
			problems.Words{Kind: "awaiting-approval", Title: "A person must approve it", Detail: "nothing was sent yet; keep the key and ask again later"}},
		"uncertain before this request": {409, deed.Answer{Decision: deed.Uncertain}, "",
			problems.Words{Kind: "outcome-uncertain", Title: "The outcome is not known", Detail: "it may have happened; nothing was sent by this request; " + lookUp}},
		"uncertain by this request": {409, deed.Answer{Decision: deed.Execute, Effective: deed.StatusUncertain, Operation: recorded}, "",
			problems.Words{Kind: "outcome-uncertain", Title: "The outcome is not known", Detail: "it was sent and may have happened; " + lookUp}},
		"failed before": {422, deed.Answer{Decision: deed.Failed}, "",
			problems.Words{Kind: "failed", Title: "It failed", Detail: "it was not applied; nothing was sent by this request"}},
		"failed before, to be repeated": {503, deed.Answer{Decision: deed.Failed, Reason: deed.ReasonRetryLater}, "",
			problems.Words{Kind: "failed", Title: "It failed, and may be repeated later", Detail: "it was not applied; nothing was sent by this request; " + again}},
		"not sent before": {502, deed.Answer{Decision: deed.Failed, Reason: deed.ReasonRetryLater}, "",
			problems.Words{Kind: "not-sent", Title: "It could not be sent", Detail: "it was not applied: nothing of it left, and nothing was sent by this request; " + again}},
		"not sent by this request": {502, deed.Answer{Decision: deed.Execute, Reason: deed.ReasonNotSent, Effective: deed.StatusFailed, Operation: recorded}, "",
			problems.Words{Kind: "not-sent", Title: "It could not be sent", Detail: "it was not applied: nothing of it left; " + again}},
		"refused by the upstream": {422, deed.Answer{Decision: deed.Execute, Effective: deed.StatusFailed, Operation: recorded}, "",
			problems.Words{Kind: "failed", Title: "It was refused", Detail: "it was sent, and definitely refused"}},
		"the tool asks": {409, deed.Answer{Decision: deed.Execute, Effective: deed.StatusAwaitingInput, Operation: recorded}, "",
			problems.Words{Kind: "in-progress", Title: "The tool asked a question", Detail: "the operation waits for the answer to the question in result"}},
		"it goes on": {409, deed.Answer{Decision: deed.Execute, Effective: deed.StatusExecuting, Operation: recorded}, "",
			problems.Words{Kind: "in-progress", Title: "It goes on", Detail: "it was sent and has not ended yet; " + again}},
		"no answer, and nothing recorded": {502, deed.Answer{Decision: deed.Execute}, "", problems.Unanswered(true)},
		"too late": {410, deed.Answer{Decision: deed.Expired}, "",
			problems.Words{Kind: "expired", Title: "It is too late", Detail: "it never ran, and may not run under this key any more"}},
		"no key": {400, deed.Answer{Decision: deed.Denied, Reason: deed.ReasonMissingOperationKey}, "",
			problems.Words{Kind: "denied", Title: "Idempotency-Key is missing", Detail: "nothing was sent; name the action, and keep the name for its repeats"}},
		"a bad key": {400, deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBadKey}, "",
			problems.Words{Kind: "denied", Title: "Idempotency-Key has the wrong shape", Detail: "nothing was sent; a key has 16 to 255 characters of A-Z a-z 0-9 _ . : -"}},
		"a bad key of a dialect": {400, deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBadKey}, "the form of a UUID",
			problems.Words{Kind: "denied", Title: "Idempotency-Key has the wrong shape", Detail: "nothing was sent; a key has the form of a UUID"}},
		"no ledger": {503, deed.Answer{Decision: deed.Denied, Reason: deed.ReasonStoreUnavailable}, "",
			problems.Words{Kind: "ledger-unavailable", Title: "The ledger cannot be reached", Detail: "nothing was sent by this request; " + again}},
		"another denial": {403, deed.Answer{Decision: deed.Denied, Reason: deed.ReasonNotYours}, "",
			problems.Words{Kind: "denied", Title: "It was denied", Detail: "nothing was sent by this request: not yours"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problems.Of(c.status, c.answer, c.shape)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whoever is told no must learn what became of the effect.
func TestEveryReasonHasWordsThatSayWhatWasSent(t *testing.T) {
	for _, row := range deed.ReasonTable() {
		for _, reason := range append([]deed.Reason{""}, row.Reasons...) {
			if row.Decision == deed.Replay || row.Decision == deed.Execute {
				continue // no problems: what became of an attempt is in its status
			}
			w := problems.Of(row.HTTP, deed.Answer{Decision: row.Decision, Reason: reason}, "")
			if w.Kind == "" || w.Title == "" || strings.HasSuffix(w.Title, ".") {
				t.Errorf("%s(%s): %+v", row.Decision, reason, w)
			}
			if !strings.Contains(w.Detail, "nothing was sent") && !strings.Contains(w.Detail, "it never ran") {
				t.Errorf("%s(%s) does not say what was sent: %s", row.Decision, reason, w.Detail)
			}
		}
	}
}

func TestTheChallengeTellsABadTokenFromNone(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if got := problems.Challenge(r); got != `Bearer realm="deed"` {
		t.Error(got)
	}
	r.Header.Set("Authorization", "Bearer x")
	if got := problems.Challenge(r); got != `Bearer realm="deed", error="invalid_token"` {
		t.Error(got)
	}
}
