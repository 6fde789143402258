// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"encoding/json"
	"fmt"
)

// Whole is what the outcome of a batch amounts to: with one member that
// nobody knows of it is unknown, with none accepted it is refused, and
// otherwise it is a success whose receipt names what was refused. Refused
// members are another operation, never another attempt of this one.
func (o Outcome) Whole() Outcome {
	if o.Kind != OutcomeSuccess || len(o.Receipt.Items) == 0 {
		return o
	}
	accepted, unknown := 0, 0
	for _, item := range o.Receipt.Items {
		switch item.Outcome {
		case OutcomeSuccess:
			accepted++
		case OutcomeRefused, OutcomeUnsent:
		default:
			unknown++
		}
	}
	switch {
	case unknown > 0:
		o.Kind, o.Reason = OutcomeUnknown, ReasonOutcomeUnknown
		o.Message = firstText(o.Message, fmt.Sprintf("of %d members %d were accepted, and of %d nobody knows", len(o.Receipt.Items), accepted, unknown))
	case accepted == 0:
		o.Kind, o.Final, o.Reason = OutcomeRefused, true, ReasonRefused
		o.Message = firstText(o.Message, fmt.Sprintf("none of %d members was accepted", len(o.Receipt.Items)))
	}
	return o
}

// maxReported bounds what an event keeps of a report's members, in bytes.
const maxReported = 256 << 10

// reported is what an outcome says of an effect at the provider and of its
// members, for an event: an operation keeps receipts of what was committed only,
// and of the members of an unknown batch nobody else could say which went
// through. Details of members stay out.
func (o Outcome) reported() json.RawMessage {
	r := o.Receipt
	told := map[string]any{"outcome": o.Whole().Kind}
	for name, text := range map[string]string{"message": o.Message, "remote_system": r.RemoteSystem, "remote_id": r.RemoteID, "remote_url": r.RemoteURL} {
		if text != "" {
			told[name] = text
		}
	}
	var items []Item
	size := 0
	for _, item := range r.Items {
		item.Detail = nil
		size += len(item.ID) + len(item.RemoteID) + len(item.Reason) + len(item.Outcome) + 64
		if size > maxReported {
			told["items_left_out"] = len(r.Items) - len(items)
			break
		}
		items = append(items, item)
	}
	if len(items) > 0 {
		told["items"] = items
	}
	data, err := json.Marshal(told)
	if err != nil {
		return nil
	}
	return data
}
