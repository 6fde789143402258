// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

// longLedger lists n operations, of which the oldest happened twice.
type longLedger struct {
	console.Runtime
	n int
}

func (l longLedger) List(_ context.Context, _ deed.Principal, q deed.Query) (deed.Page, error) {
	from := l.n
	if q.Before != "" {
		if _, err := fmt.Sscanf(string(q.Before), "op_%d", &from); err != nil {
			return deed.Page{}, err
		}
		from--
	}
	var page deed.Page
	for ; from > 0 && len(page.Operations) < q.Limit; from-- {
		page.Operations = append(page.Operations, &deed.Operation{ID: deed.OperationID(fmt.Sprintf("op_%026d", from)), Status: deed.StatusCommitted, Diverged: from == 1})
	}
	if from > 0 {
		page.Next = deed.OperationID(fmt.Sprintf("op_%026d", from+1))
	}
	return page, nil
}

func TestContradictionsAreLookedForFurtherBack(t *testing.T) {
	r := newRig(t, func(o *console.Options) { o.Runtime = longLedger{o.Runtime, 12_000} })
	vera := r.as("viewer-token")
	oldest := fmt.Sprintf("/op/op_%026d", 1)
	for _, test := range []struct {
		path, say string
		last      bool
	}{
		{"/flags", "5000 operations were looked at, the newest", false},
		{fmt.Sprintf("/flags?before=op_%026d", 7001), "5000 operations were looked at, from there on", false},
		{fmt.Sprintf("/flags?before=op_%026d", 2001), "That was the oldest.", true},
	} {
		page := vera.page(test.path)
		want(t, page, test.say)
		if strings.Contains(page, oldest) != test.last || strings.Contains(page, "Look further back") == test.last {
			t.Errorf("%s shows\n%s", test.path, page)
		}
	}
	want(t, vera.page("/flags"), fmt.Sprintf(`href="/flags?before=op_%026d"`, 7001))
}
