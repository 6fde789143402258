// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/deed-run/deed/internal/canon"
)

// quotedMarks bounds the texts of one call that are asked for as marks, quotedAtOnce
// those of one question.
const (
	quotedMarks  = 2048
	quotedAtOnce = 64
)

// lookForQuotedMarks finds in the arguments of a new operation the mark of another
// one of which nobody knows whether it happened. A look-up would take what this call
// makes for the effect of that one.
func (c *claim) lookForQuotedMarks(ctx context.Context, found *Operation) error {
	if found != nil || c.resumed != nil || c.invalid != "" {
		return nil
	}
	var keys []Key
	for _, text := range likeMarks(c.call.Arguments) {
		keys = append(keys, markerKey(text))
	}
	for len(keys) > 0 {
		asked := keys[:min(len(keys), quotedAtOnce)]
		view, err := c.rt.store.Load(ctx, Scope{Tenant: c.call.Principal.Tenant, Keys: asked})
		if err != nil {
			return err
		}
		op := view.Operation
		if op == nil {
			keys = keys[len(asked):]
			continue
		}
		if op.Unresolved(view.Now) {
			c.invalid = fmt.Sprintf("the arguments hold the mark of %s, of which is not known whether it happened: what this call made would be taken for it; leave the mark out, or settle that one first", op.ID)
			return nil
		}
		// The first that is known is told; others may stand behind it.
		at := slices.IndexFunc(asked, func(k Key) bool { return k.Text == view.Found.Text })
		keys = keys[max(at, 0)+1:]
	}
	return nil
}

// likeMarks lists what in a JSON document is written as marks are: 26 letters and
// digits of base32 (RFC 4648 section 6), also within longer runs of them, each once.
func likeMarks(document []byte) []string {
	if bytes.Contains(document, []byte(`\u`)) {
		if plain, err := canon.CanonicalJSON(document); err == nil {
			document = plain
		}
	}
	var list []string
	seen := map[string]bool{}
	run := 0
	for i, b := range document {
		if b >= 'A' && b <= 'Z' || b >= '2' && b <= '7' {
			run++
		} else {
			run = 0
		}
		if run < markerLength {
			continue
		}
		text := string(document[i+1-markerLength : i+1])
		if seen[text] {
			continue
		}
		seen[text] = true
		if list = append(list, text); len(list) == quotedMarks {
			break
		}
	}
	return list
}
