// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/reconcile"
)

// ledger notes the proofs that reach it.
type ledger struct {
	proofs []deed.Proof
	err    error
}

func (l *ledger) Prove(_ context.Context, proof deed.Proof) (*deed.Operation, error) {
	if l.err != nil {
		return nil, l.err
	}
	if proof.Marker != "MARKER" {
		return nil, fmt.Errorf("%s: %w", proof.Marker, deed.ErrNotFound)
	}
	l.proofs = append(l.proofs, proof)
	return &deed.Operation{}, nil
}

func readEvent(_ *http.Request, body []byte) (deed.Proof, error) {
	var event struct{ Type, ID, Op string }
	if err := json.Unmarshal(body, &event); err != nil {
		return deed.Proof{}, err
	}
	if event.Type != "refund.created" {
		return deed.Proof{}, reconcile.ErrNoProof
	}
	return deed.Proof{Marker: event.Op, RemoteID: event.ID, Tenant: "forged", EstablishedBy: "reconcile:forged"}, nil
}

func sign(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func TestWebhooks(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	signature := reconcile.Signature{
		Secrets: [][]byte{[]byte("new secret"), []byte("old secret")}, Header: "X-Signature", Prefix: "sha256=",
		TimestampHeader: "X-Timestamp", Tolerance: 5 * time.Minute, Now: func() time.Time { return now },
	}
	const good = `{"type":"refund.created","id":"re_1","op":"MARKER"}`
	for _, c := range []struct {
		name, secret, body, signed string
		stamp                      time.Time
		ledger                     error
		status, proofs             int
	}{
		{"a genuine message", "new secret", good, good, now, nil, 204, 1},
		{"signed with the secret that is going out", "old secret", good, good, now, nil, 204, 1},
		{"signed with another secret", "wrong", good, good, now, nil, 401, 0},
		{"another body than was signed", "new secret", strings.Replace(good, "re_1", "re_2", 1), good, now, nil, 401, 0},
		{"an old message played again", "new secret", good, good, now.Add(-time.Hour), nil, 401, 0},
		{"a message from the future", "new secret", good, good, now.Add(time.Hour), nil, 401, 0},
		{"an unknown operation", "new secret", strings.Replace(good, "MARKER", "OTHER", 1), strings.Replace(good, "MARKER", "OTHER", 1), now, nil, 404, 0},
		{"no proof", "new secret", `{"type":"refund.queued"}`, `{"type":"refund.queued"}`, now, nil, 204, 0},
		{"no operation named", "new secret", `{"type":"refund.created"}`, `{"type":"refund.created"}`, now, nil, 400, 0},
		{"no JSON", "new secret", "<xml/>", "<xml/>", now, nil, 400, 0},
		{"the ledger is down", "new secret", good, good, now, deed.ErrUnavailable, 503, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := &ledger{err: c.ledger}
			inbox := reconcile.Inbox{Prover: ledger, Tenant: "acme", Verify: signature.Verify, Read: readEvent}
			r := httptest.NewRequest(http.MethodPost, "/hooks/pay", strings.NewReader(c.body))
			stamp := fmt.Sprint(c.stamp.Unix())
			r.Header.Set("X-Timestamp", stamp)
			r.Header.Set("X-Signature", sign(c.secret, stamp+"."+c.signed))
			w := httptest.NewRecorder()
			inbox.ServeHTTP(w, r)
			if w.Code != c.status || len(ledger.proofs) != c.proofs {
				t.Errorf("%d with %d proofs, want %d with %d: %s", w.Code, len(ledger.proofs), c.status, c.proofs, w.Body)
			}
			for _, proof := range ledger.proofs {
				if proof.Tenant != "acme" || proof.EstablishedBy != deed.ByWebhook {
					t.Errorf("the message chose %+v", proof)
				}
			}
		})
	}
}

func TestAnInboxWithoutASecretTakesNothing(t *testing.T) {
	for name, verify := range map[string]func(*http.Request, []byte) error{
		"nothing to verify with": nil,
		"an empty secret":        reconcile.Signature{Secrets: [][]byte{nil}, Header: "X-Signature"}.Verify,
		"no secret":              reconcile.Signature{Header: "X-Signature"}.Verify,
		"an error":               func(*http.Request, []byte) error { return errors.New("no") },
	} {
		ledger := &ledger{}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Header.Set("X-Signature", strings.TrimPrefix(sign("", "{}"), "sha256="))
		w := httptest.NewRecorder()
		reconcile.Inbox{Prover: ledger, Verify: verify, Read: readEvent}.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || len(ledger.proofs) != 0 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	w := httptest.NewRecorder()
	reconcile.Inbox{}.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
	w = httptest.NewRecorder()
	big := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 100)))
	reconcile.Inbox{MaxBody: 10, Verify: func(*http.Request, []byte) error { return nil }}.ServeHTTP(w, big)
	if w.Code != http.StatusBadRequest {
		t.Errorf("too big: %d", w.Code)
	}
}
