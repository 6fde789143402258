// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"encoding/json"
	"time"
)

// Event is one line of an operation's history: a change of status, a piece of
// evidence, or a decision that sent nothing. Events are append-only.
type Event struct {
	ID          EventID     `json:"id"`
	Tenant      Tenant      `json:"-"`
	OperationID OperationID `json:"operation_id,omitempty"`
	// Version is the operation's version after the event; decision events,
	// which change no operation, carry the version they were taken at.
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	// Name is the EventName of a transition or a Decision.
	Name    EventName `json:"name"`
	Actor   Actor     `json:"actor"`
	Attempt int       `json:"attempt,omitempty"`
	From    Status    `json:"from,omitempty"`
	To      Status    `json:"to,omitempty"`
	Reason  Reason    `json:"reason,omitempty"`
	// Tool and Fingerprint say what a decision was about; of a conflict the
	// fingerprint is the refused one.
	Tool        Tool        `json:"tool,omitempty"`
	Fingerprint Fingerprint `json:"fingerprint,omitempty"`
	// Data is a JSON object with details, never arguments or secrets.
	Data json.RawMessage `json:"data,omitempty"`
}

// Delivered is the event that marks an operation's receipt as handed over.
// Appending it sets the operation's delivered time if it was unset.
const Delivered EventName = "delivered"
