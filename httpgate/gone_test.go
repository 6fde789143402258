// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
)

// answerless is a Runtime that gives no answer.
type answerless struct {
	httpgate.Runtime
	err error
}

func (r answerless) Claim(context.Context, deed.Call) (deed.Answer, *deed.Grant, error) {
	return deed.Answer{}, nil, r.err
}

func TestARequestWithoutAnAnswerSaysWhyAndBlamesNoLedger(t *testing.T) {
	for name, c := range map[string]struct {
		err error
		why string
	}{
		"the gateway is closing": {deed.ErrClosed, "is closing"},
		"the caller left":        {context.Canceled, "left"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &handling{do: func(http.ResponseWriter, *http.Request) {}}
			r := build(t, setup{handler: h, routes: append(anyRoute(), httpgate.Route{Method: "GET", Pattern: "/look"}), edit: func(o *httpgate.Options) {
				o.Runtime = answerless{o.Runtime, c.err}
			}})
			for _, g := range []got{r.send("POST", "/do/it", order1, "Idempotency-Key", key), r.send("GET", "/look", "")} {
				g.wants(t, 503, "Retry-After", "1", "Deed-Reason", "", "Content-Type", "application/problem+json")
				var doc struct{ Type, Detail string }
				must(t, json.Unmarshal([]byte(g.body), &doc))
				if !strings.HasSuffix(doc.Type, "#no-answer") || !strings.Contains(doc.Detail, c.why) || !strings.Contains(doc.Detail, "nothing was sent") {
					t.Errorf("%s", g.body)
				}
			}
			if h.effects.Load() != 0 {
				t.Error("it ran")
			}
		})
	}
}
