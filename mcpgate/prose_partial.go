// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"fmt"
	"strings"

	"github.com/deed-run/deed"
)

// maxItems is how many members of a batch a text names of each kind.
const maxItems = 6

// partial speaks of a batch that was taken in part, or is "".
func (s situation) partial() string {
	op := s.answer.Operation
	if op == nil || op.Receipt() == nil || len(op.Receipt().Items) == 0 {
		return ""
	}
	var done, refused []string
	for _, item := range op.Receipt().Items {
		name := item.RemoteID
		if name == "" {
			name = item.ID
		}
		name = plain(strings.Trim(name, "<>"), 40)
		switch item.Outcome {
		case deed.OutcomeSuccess:
			done = append(done, name)
		case deed.OutcomeRefused, deed.OutcomeUnsent:
			refused = append(refused, fmt.Sprintf("%s (%s)", plain(item.ID, 40), orReason(plain(item.Reason, 60))))
		default:
			return ""
		}
	}
	if len(refused) == 0 {
		return ""
	}
	return fmt.Sprintf("Done for %d of %d: %s. Refused: %s. Nothing is unknown. The refused ones are new actions.",
		len(done), len(done)+len(refused), some(done), some(refused))
}

func orReason(text string) string {
	if text == "" {
		return "no reason given"
	}
	return strings.TrimRight(text, ". ")
}

// some names the first of a list and how many more there are.
func some(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	if len(list) <= maxItems {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:maxItems], ", "), len(list)-maxItems)
}
