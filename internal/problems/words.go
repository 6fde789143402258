// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package problems

import (
	"net/http"
	"strings"

	"github.com/deed-run/deed"
)

// Words are what a problem says: what is established, and what to do next.
type Words struct {
	Kind, Title, Detail string
}

// The titles of draft-ietf-httpapi-idempotency-key-header-07 section 2.7.
const (
	titleMissing     = "Idempotency-Key is missing"
	titleUsed        = "Idempotency-Key is already used"
	titleOutstanding = "A request is outstanding for this Idempotency-Key"
	titleShape       = "Idempotency-Key has the wrong shape"
)

// KeyShape is the shape of keys where a dialect has no other.
const KeyShape = "16 to 255 characters of A-Z a-z 0-9 _ . : -"

// UnknownTitle and SendToken are the words for a caller who is not known. They do not tell that
// nothing was done: the doors say so of what they do.
const (
	UnknownTitle = "The caller is not known"
	SendToken    = "send a valid bearer token"
)

// Of returns the words for an answer that goes out with a status code. Where the
// decision is to execute, the answer is about the attempt of this very request,
// and its effective status tells how that ended; without an operation nothing was
// recorded of it. Keys are said to have [KeyShape] or, if it is not empty, shape.
func Of(status int, a deed.Answer, shape string) Words {
	kind := strings.ReplaceAll(string(a.Decision), "_", "-")
	switch a.Decision {
	case deed.Conflict:
		if a.Reason == deed.ReasonInputDiffers && a.Effective == deed.StatusAwaitingInput {
			return Words{kind, "The answer fits no open question", "nothing was sent; the question of the tool still waits for its first answer"}
		}
		if a.Reason == deed.ReasonInputDiffers {
			return Words{kind, "The question was answered otherwise", "nothing was sent; the first answer to a question of the tool counts"}
		}
		return Words{kind, titleUsed, "nothing was sent; this key names another effect: send what it named, or name the new action anew"}
	case deed.InProgress:
		if a.Reason == deed.ReasonAwaitingInput {
			return Words{kind, "The tool asked a question", "nothing was sent by this request; the operation waits for the answer to the question in result"}
		}
		// The attempt may be that of this request, which was not waited for.
		return Words{kind, titleOutstanding, "nothing was sent twice; ask again later, under the same key"}
	case deed.AwaitingApproval:
		return Words{kind, "A person must approve it", "nothing was sent yet; keep the key and ask again later"}
	case deed.Uncertain:
		return Words{Uncertain, "The outcome is not known", "it may have happened; nothing was sent by this request; do not repeat it under another key: look the effect up and resolve the operation"}
	case deed.Failed:
		return failed(status, kind)
	case deed.Expired:
		return Words{kind, "It is too late", "it never ran, and may not run under this key any more"}
	case deed.Denied:
		if a.Reason == deed.ReasonMissingOperationKey && len(a.Rule.Key.From) > 0 {
			return Words{kind, "The key cannot be derived", "nothing was sent; send what the key is derived from, or a key of your program's in its place"}
		}
		return denied(kind, a.Reason, shape)
	}
	return attempted(status, a)
}

// Keyless are the words for a request that named its operation in another way than by
// the header, which they would name.
func (w Words) Keyless() Words {
	switch w.Title {
	case titleUsed:
		w.Title = "The key is already used"
	case titleOutstanding:
		w.Title = "A request is outstanding for this key"
	case titleShape:
		w.Title = "The key has the wrong shape"
	}
	return w
}

// failed are the words for a failure of an earlier request.
func failed(status int, kind string) Words {
	switch status {
	case http.StatusBadGateway:
		return Words{NotSent, "It could not be sent", "it was not applied: nothing of it left, and nothing was sent by this request; ask again later, under the same key"}
	case http.StatusServiceUnavailable:
		return Words{kind, "It failed, and may be repeated later", "it was not applied; nothing was sent by this request; ask again later, under the same key"}
	}
	return Words{kind, "It failed", "it was not applied; nothing was sent by this request"}
}

// attempted are the words for an attempt of this request.
func attempted(status int, a deed.Answer) Words {
	switch {
	case a.Operation == nil && status == http.StatusBadGateway:
		return Unanswered(true)
	case status == http.StatusBadGateway:
		return Words{NotSent, "It could not be sent", "it was not applied: nothing of it left; ask again later, under the same key"}
	case status == http.StatusUnprocessableEntity:
		return Words{string(deed.Failed), "It was refused", "it was sent, and definitely refused"}
	case a.Effective == deed.StatusAwaitingInput:
		return Words{"in-progress", "The tool asked a question", "the operation waits for the answer to the question in result"}
	case a.Effective == deed.StatusExecuting:
		return Words{"in-progress", "It goes on", "it was sent and has not ended yet; ask again later, under the same key"}
	}
	return Words{Uncertain, "The outcome is not known", "it was sent and may have happened; do not repeat it under another key: look the effect up and resolve the operation"}
}

// Unanswered are the words for a request of which nothing is recorded, when the
// upstream gave no answer. One that may have changed something may have arrived.
func Unanswered(changes bool) Words {
	w := Words{NoReply, "The upstream did not answer", "nothing is recorded of this request, which only reads; it can be made again"}
	if changes {
		w.Detail = "it was sent and may have happened, and nothing is recorded of this request; look before it is made again"
	}
	return w
}

// Unsent are the words for a request of which nothing is recorded and, for certain,
// nothing left.
func Unsent() Words {
	return Words{NotSent, "It could not be sent", "nothing of it left, and nothing is recorded of this request; it can be made again"}
}

func denied(kind string, reason deed.Reason, shape string) Words {
	switch reason {
	case deed.ReasonMissingOperationKey:
		return Words{kind, titleMissing, "nothing was sent; name the action, and keep the name for its repeats"}
	case deed.ReasonBadKey:
		if shape == "" {
			shape = KeyShape
		}
		return Words{kind, titleShape, "nothing was sent; a key has " + shape}
	case deed.ReasonKeyCarriersDisagree:
		return Words{kind, "The request carries two different keys", "nothing was sent; it must carry one"}
	case deed.ReasonBadArguments:
		return Words{kind, "The arguments were refused", "nothing was sent, and the key stays free"}
	case deed.ReasonStoreUnavailable:
		return Words{Unavailable, "The ledger cannot be reached", "nothing was sent by this request; ask again later, under the same key"}
	case deed.ReasonPolicyOutdated:
		return Words{kind, "This gateway has older rules than another one", "nothing was sent by this request; whoever runs this gateway must restart it with the newer configuration file; ask again later, under the same key"}
	case deed.ReasonLoop, deed.ReasonRate:
		return Words{kind, "Too many calls", "nothing was sent; come back later"}
	}
	return Words{kind, "It was denied", "nothing was sent by this request: " + strings.ReplaceAll(string(reason), "_", " ")}
}
