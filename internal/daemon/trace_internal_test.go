// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"testing"

	"github.com/deed-run/deed"
)

// spans is an Observer that gives every call a span with a fixed name.
type spans struct{ deed.Observer }

func (spans) CallStarted(ctx context.Context, _ deed.Call) context.Context {
	return tracing{}.Received(ctx, map[string]string{"traceparent": own})
}
func (spans) Traceparent(context.Context) string { return own }

const (
	clients = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	own     = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01"
)

func TestTheUpstreamIsToldTheSpanOfTheCall(t *testing.T) {
	for _, c := range []struct {
		name     string
		observer deed.Observer
		want     string
	}{
		{"a gateway that traces", spans{}, own},
		{"a gateway that does not", nil, clients},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := map[string]string{"traceparent": clients, "baggage": "user=1"}
			ctx := tracing{}.Received(t.Context(), meta)
			if observer := placed(c.observer); observer != nil {
				observer.CallStarted(ctx, deed.Call{})
				if _, ok := observer.(deed.Tracer); !ok {
					t.Error("the wrapped Observer traces no more")
				}
			}
			tracing{}.Sending(ctx, meta)
			if meta["traceparent"] != c.want || meta["baggage"] != "user=1" {
				t.Errorf("the upstream is told %v", meta)
			}
		})
	}
}
