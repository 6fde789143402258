// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/deed-run/deed"
)

// Prover takes proofs; a *deed.Runtime is one.
type Prover interface {
	Prove(ctx context.Context, proof deed.Proof) (*deed.Operation, error)
}

// ErrNoProof is returned by Inbox.Read for a message that is genuine and
// proves nothing, such as "queued" or "bounced".
var ErrNoProof = errors.New("no proof of a commit")

// Inbox receives webhooks and status callbacks of one provider account and
// records what they prove. The ledger is its store: a message is acknowledged
// once its proof is durable, and a provider that hears a 5xx sends it again.
// That no message came proves nothing.
//
// It answers 401 to a signature that does not fit, 400 to what cannot be read,
// 404 to an operation that is not known (nothing is stored), 503 while the
// ledger cannot be reached, 204 otherwise.
type Inbox struct {
	Prover Prover
	// Tenant is whose operations the account's messages are about: it is never
	// taken from a message.
	Tenant deed.Tenant
	// Verify checks that the message is the provider's; nil refuses all.
	Verify func(r *http.Request, body []byte) error
	// Read finds the operation's marker and the remote id in a genuine
	// message. Tenant and EstablishedBy of the proof are set by the Inbox.
	Read func(r *http.Request, body []byte) (deed.Proof, error)
	// MaxBody bounds a message; 0 means 1 MiB.
	MaxBody int64
}

// ServeHTTP implements http.Handler.
func (i Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		w.Header().Set("Allow", "POST, PUT")
		http.Error(w, "messages are posted", http.StatusMethodNotAllowed)
		return
	}
	limit := i.MaxBody
	if limit <= 0 {
		limit = 1 << 20
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		http.Error(w, "the message could not be read whole", http.StatusBadRequest)
		return
	}
	if i.Verify == nil {
		http.Error(w, "no signature can be checked here", http.StatusUnauthorized)
		return
	}
	if err := i.Verify(r, body); err != nil {
		http.Error(w, "the signature does not fit the message", http.StatusUnauthorized)
		return
	}
	proof, err := i.Read(r, body)
	if errors.Is(err, ErrNoProof) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err != nil || proof.Marker == "" && proof.Operation == "" {
		http.Error(w, "the message does not say what it is about", http.StatusBadRequest)
		return
	}
	proof.Tenant, proof.EstablishedBy = i.Tenant, deed.ByWebhook
	switch _, err := i.Prover.Prove(context.WithoutCancel(r.Context()), proof); {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, deed.ErrNotFound):
		http.Error(w, "no such operation", http.StatusNotFound)
	default:
		http.Error(w, "it could not be recorded; send it again", http.StatusServiceUnavailable)
	}
}

// Inbound is the rung of a tool whose provider tells by itself: what comes in
// is recorded on arrival, and waiting proves nothing.
type Inbound struct{}

// Name is "inbound".
func (Inbound) Name() string { return "inbound" }

// Probe implements [Strategy]: it never determines anything.
func (Inbound) Probe(context.Context, deed.Inquest) (deed.Verdict, error) {
	return undetermined("no confirmation has come in, which proves nothing")
}
