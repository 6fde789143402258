// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// Effect is one line of the effect ledger: something that really happened.
type Effect struct {
	Seq int `json:"seq"`
	// Op is the business id that the arguments name, so that effects can be
	// counted per intended action.
	Op         string    `json:"op"`
	ArgsSHA256 string    `json:"args_sha256"`
	At         time.Time `json:"at"`
	Tool       string    `json:"tool"`
	// ID is the provider's own name for what it made.
	ID     string `json:"id"`
	Key    string `json:"key,omitempty"`
	Marker string `json:"marker,omitempty"`
	// RequestID names the received request that caused it (Request.ID).
	RequestID string          `json:"request_id"`
	Args      json.RawMessage `json:"args"`
}

// Request is one line of the request ledger: a call that arrived, whatever
// became of it.
type Request struct {
	Seq        int       `json:"seq"`
	ID         string    `json:"request_id"`
	Op         string    `json:"op"`
	Tool       string    `json:"tool"`
	ArgsSHA256 string    `json:"args_sha256"`
	At         time.Time `json:"at"`
	// Transport is stdio, mcp or http.
	Transport string `json:"transport"`
	Key       string `json:"key,omitempty"`
	// Fault is the fault that was applied to it.
	Fault    FaultKind `json:"fault"`
	ReadOnly bool      `json:"read_only,omitempty"`
	// Meta is the MCP _meta member as it arrived.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// ledgers are the two files of a fixture directory.
type ledgers struct {
	effects  *journal[Effect]
	requests *journal[Request]
}

// EffectsFile and RequestsFile are the names of the two ledgers in a fixture
// directory.
const (
	EffectsFile  = "effects.ndjson"
	RequestsFile = "requests.ndjson"
)

func openLedgers(dir string) (ledgers, error) {
	effects, err := openJournal[Effect](filepath.Join(dir, EffectsFile), true)
	if err != nil {
		return ledgers{}, err
	}
	requests, err := openJournal[Request](filepath.Join(dir, RequestsFile), false)
	if err != nil {
		_ = effects.close()
		return ledgers{}, err
	}
	return ledgers{effects: effects, requests: requests}, nil
}

func (l ledgers) reset() error {
	if err := l.effects.reset(); err != nil {
		return err
	}
	return l.requests.reset()
}

func (l ledgers) close() error {
	err := l.effects.close()
	if other := l.requests.close(); err == nil {
		err = other
	}
	return err
}

// Selection picks rows of a ledger; empty members match everything.
type Selection struct {
	Tool string
	Op   string
	// AtLeast makes the listing wait until so many rows match.
	AtLeast int
}

// Effects lists the effects that match, waiting as the selection says.
func (p *Provider) Effects(ctx context.Context, s Selection) ([]Effect, error) {
	return p.ledgers.effects.wait(ctx, s.AtLeast, func(e Effect) bool {
		return (s.Tool == "" || s.Tool == e.Tool) && (s.Op == "" || s.Op == e.Op)
	})
}

// Requests lists the received calls that match, waiting as the selection says.
// Look-ups are listed only when their tool is named.
func (p *Provider) Requests(ctx context.Context, s Selection) ([]Request, error) {
	return p.ledgers.requests.wait(ctx, s.AtLeast, func(r Request) bool {
		return (s.Tool == r.Tool || s.Tool == "" && !r.ReadOnly) && (s.Op == "" || s.Op == r.Op)
	})
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func requestName(seq int) string { return fmt.Sprintf("req_%06d", seq) }
