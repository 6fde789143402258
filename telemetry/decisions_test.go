// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/telemetry"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// walk makes calls until every decision has been answered. It returns what
// each was, in order.
func walk(r *rig) []string {
	var steps []string
	ctx := context.Background()
	step := func(name string, call deed.Call, out deed.Outcome) {
		answer := r.run(ctx, call, out)
		steps = append(steps, fmt.Sprintf("%s: %s(%s)", name, answer.Decision, answer.Reason))
	}
	step("first call", callOf("pay/refund", "refund-order-1001", `{"order":1001,"amount":5}`), success("re_1"))
	step("its repeat", callOf("pay/refund", "refund-order-1001", `{"order":1001,"amount":5}`), deed.Outcome{})
	step("its key with another amount", callOf("pay/refund", "refund-order-1001", `{"order":1001,"amount":6}`), deed.Outcome{})

	lost := callOf("pay/refund", "refund-order-1002", `{"order":1002,"amount":5}`)
	_, grant := r.claim(ctx, lost)
	step("a duplicate of a live call", callOf("pay/refund", "refund-order-1002", `{"order":1002,"amount":5}`), deed.Outcome{})
	answer, err := r.runtime.Settle(ctx, grant, deed.Outcome{Kind: deed.OutcomeUnknown, Message: "connection reset"})
	if err != nil {
		r.t.Fatal(err)
	}
	steps = append(steps, fmt.Sprintf("the live call loses its reply: %s(%s)", answer.Decision, answer.Reason))
	step("a repeat after the loss", callOf("pay/refund", "refund-order-1002", `{"order":1002,"amount":5}`), deed.Outcome{})

	step("the provider refuses", callOf("pay/refund", "refund-order-1003", `{"order":1003,"amount":5}`),
		deed.Outcome{Kind: deed.OutcomeRefused, Final: true, Reason: deed.ReasonRefused, Message: "card closed"})
	step("a repeat of the refused", callOf("pay/refund", "refund-order-1003", `{"order":1003,"amount":5}`), deed.Outcome{})

	step("nothing leaves", callOf("pay/refund", "refund-order-1004", `{"order":1004,"amount":5}`),
		deed.Outcome{Kind: deed.OutcomeUnsent, Reason: deed.ReasonNotSent})
	step("the next attempt", callOf("pay/refund", "refund-order-1004", `{"order":1004,"amount":5}`), success("re_4"))

	step("the tool answers with an error", callOf("pay/refund", "refund-order-1005", `{"order":1005,"amount":5}`),
		deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, Result: []byte(`{"isError":true}`), ResultIsError: true})

	step("no key", callOf("pay/refund", "", `{"order":1006,"amount":5}`), deed.Outcome{})

	large := callOf("pay/refund_large", "refund-order-1007", `{"order":1007,"amount":5000}`)
	large.ExpiresAt = start().Add(time.Minute)
	step("needs a person", large, deed.Outcome{})
	r.clock.Advance(2 * time.Minute)
	step("nobody came", large, deed.Outcome{})
	return steps
}

// shown is a span as the golden file keeps it.
type shown struct {
	Step        string         `json:"step,omitempty"`
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Status      string         `json:"status"`
	Description string         `json:"description,omitempty"`
	Attributes  map[string]any `json:"attributes"`
	Events      []string       `json:"events,omitempty"`
	LinksTo     []string       `json:"links_to,omitempty"`
}

// show describes spans without what differs between runs: ids are numbered
// and links name the step that they lead to.
func show(steps []string, spans tracetest.SpanStubs) []shown {
	steps = append([]string(nil), steps...)
	step := map[string]string{}
	for i, span := range spans {
		for len(steps) <= i {
			steps = append(steps, fmt.Sprintf("span %d", len(steps)+1))
		}
		step[span.SpanContext.SpanID().String()] = steps[i]
	}
	numbered := map[string]string{}
	list := make([]shown, 0, len(spans))
	for i, span := range spans {
		s := shown{
			Step: steps[i], Name: span.Name, Kind: span.SpanKind.String(), Status: span.Status.Code.String(),
			Description: span.Status.Description, Attributes: map[string]any{},
		}
		for _, attribute := range span.Attributes {
			value := attribute.Value.AsInterface()
			if text, ok := value.(string); ok && strings.HasPrefix(text, "op_") {
				if numbered[text] == "" {
					numbered[text] = fmt.Sprintf("op_%d", len(numbered)+1)
				}
				value = numbered[text]
			}
			s.Attributes[string(attribute.Key)] = value
		}
		for _, event := range span.Events {
			s.Events = append(s.Events, event.Name)
		}
		for _, link := range span.Links {
			s.LinksTo = append(s.LinksTo, step[link.SpanContext.SpanID().String()])
		}
		list = append(list, s)
	}
	return list
}

// golden compares with a file of testdata; UPDATE_GOLDEN=1 rewrites it.
func golden(t *testing.T, name string, value any) {
	t.Helper()
	path := filepath.Join("testdata", name)
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func TestEveryDecisionHasASpanWithTheWholeSetOfAttributes(t *testing.T) {
	r := newRig(t, telemetry.Options{Policy: rules(), Transport: "pipe"})
	steps := walk(r)
	spans := show(steps, r.spans.GetSpans())
	if len(spans) != len(steps) {
		t.Errorf("%d calls were answered, %d spans ended", len(steps), len(spans))
	}
	seen := map[any]bool{}
	for _, span := range spans {
		seen[span.Attributes["agent.idempotency.decision"]] = true
	}
	for _, row := range deed.ReasonTable() {
		if !seen[string(row.Decision)] {
			t.Errorf("no call was answered with %s", row.Decision)
		}
	}
	golden(t, "decisions.json", spans)
}

func TestALibraryCallHasAnInternalSpan(t *testing.T) {
	r := newRig(t, telemetry.Options{Surface: telemetry.SurfaceLibrary})
	answer, err := r.runtime.Do(context.Background(), callOf("pay/refund", "refund-order-1001", `{"order":1001}`),
		func(context.Context, deed.Attempt) (deed.Receipt, error) {
			return deed.Receipt{RemoteSystem: "pay", RemoteID: "re_1"}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "library.json", show([]string{"call"}, r.spans.GetSpans()))
	if answer.Decision != deed.Execute {
		t.Errorf("the call was answered with %s", answer.Decision)
	}
	if _, ok := r.collect()["gen_ai.execute_tool.duration"]; !ok {
		t.Error("gen_ai.execute_tool.duration was not recorded")
	}
}
