// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

func listed() ([]*deed.Operation, time.Time) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	op := func(id string, status deed.Status, reason deed.Reason, key string) *deed.Operation {
		return &deed.Operation{
			ID: deed.OperationID("op_01KB7Q5W2M9X4T6R8V0C3E5G" + id), Tenant: "default", Actor: "support-agent-of-the-shop", Tool: "payments/pay.refund", Matter: "order-1042",
			Status: status, Reason: reason, CreatedAt: now.Add(-4 * time.Minute), SettledAt: now.Add(-3 * time.Minute), Key: deed.Key{Text: key},
			Arguments: []byte(`{"order_id":"order-1042","amount":12}`), Attempts: []deed.Attempt{{Number: 1, BegunAt: now.Add(-4 * time.Minute)}},
		}
	}
	return []*deed.Operation{op("7H", deed.StatusUncertain, deed.ReasonOutcomeUnknown, "refund:order-1042:first"), op("6G", deed.StatusCommitted, "", "refund:order-1041:first")}, now
}

func TestATableOfOperationsFitsTheTerminalAndKeepsIdStatusAndKeyWhole(t *testing.T) {
	list, now := listed()
	whole := strings.Join(operationTable(list, now, 0), "\n")
	for _, width := range []int{60, 80, 100, 120, 160, 200, 300} {
		lines := operationTable(list, now, width)
		text := strings.Join(lines, "\n")
		for _, op := range list {
			for _, want := range []string{string(op.ID), standing(op, now), op.Key.Text} {
				if !strings.Contains(text, want) {
					t.Errorf("at %d columns %q is not whole:\n%s", width, want, text)
				}
			}
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width && width >= 80 {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
		if width == 300 && text != whole {
			t.Errorf("at %d columns something is missing:\n%s", width, text)
		}
	}
	want := []string{
		"OPERATION                      STATUS                       TOOL",
		"op_01KB7Q5W2M9X4T6R8V0C3E5G7H  uncertain (outcome_unknown)  payments/pay.refund",
		`  refund:order-1042:first  attempt 1, 4m00s ago: {"order_id":"order-1042","amou…`,
		"op_01KB7Q5W2M9X4T6R8V0C3E5G6G  committed                    payments/pay.refund",
		"  refund:order-1041:first", "",
		"not shown here: TENANT, LOOKED UP, MATTER, ACTOR, UNCERTAIN FOR, BEGUN; a wider", "  terminal, a pipe or --json shows all",
	}
	if diff := cmp.Diff(want, operationTable(list, now, 80)); diff != "" {
		t.Error(diff)
	}
}

func TestATableGivesUpColumnsInTheirOrder(t *testing.T) {
	rows := [][]string{{"NAME", "AT", "NOTE"}, {"alpha", "3m00s ago (2026-03-01T11:57:00Z)", "a note of some length"}}
	for width, want := range map[int]string{
		0:  "alpha|3m00s ago (2026-03-01T11:57:00Z)|a note of some length",
		62: "alpha|3m00s ago (2026-03-01T11:57:00Z)|a note of some length",
		61: "alpha|3m00s ago|a note of some length",
		30: "alpha|3m00s ago|a note of s…",
		28: "alpha|3m00s ago|a note of…",
		25: "alpha|a note of some le…",
		10: "alpha|a note o…",
	} {
		narrow, left := fitted(rows, width, fit{"NOTE", 10}, fit{"AT", 0}, fit{"NOTE", 9})
		if got := strings.Join(narrow[1], "|"); got != want || (len(left) == 1) != (width == 25 || width == 10) {
			t.Errorf("at %d columns: %s, left out %v", width, got, left)
		}
	}
}

func TestLinesAreFoldedAtSpacesAndCommandsAreNot(t *testing.T) {
	lines := foldedLines([]string{
		"  look at the provider and say what you found", "    deed ops resolve op_1 --committed --reason found", `  {"a": "b c d e f g h i j k l m n"}`, "", "short",
		"  sha256:0123456789012345678901234567", "  digest  sha256:0123456789012345678901234567",
	}, 24)
	want := []string{
		"  look at the provider", "      and say what you", "      found", "    deed ops resolve op_1 --committed --reason found", `  {"a": "b c d e f g h i j k l m n"}`, "", "short",
		"  sha256:0123456789012345678901234567", "  digest  sha256:0123456789012345678901234567",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestOfARequestItsBodyIsWhatWasSent(t *testing.T) {
	for name, c := range map[string]struct{ arguments, want string }{
		"a form":         {`{"method":"POST","type":"application/x-www-form-urlencoded","form":{"amount":"12"},"target":"/v1/refunds","raw":"YW1vdW50PTEyJmNoYXJnZT1jaF8x"}`, "amount=12&charge=ch_1"},
		"JSON":           {`{"method":"POST","target":"/v1/refunds","body":{"amount": 12}}`, `{"amount": 12}`},
		"other bytes":    {`{"method":"POST","target":"/v1","body_sha256":"ab","raw":"AAE="}`, `{"method":"POST","target":"/v1","body_sha256":"ab","raw":"AAE="}`},
		"no request":     {`{"amount":12,"body":"b"}`, `{"amount":12,"body":"b"}`},
		"without bodies": {`{"method":"DELETE","target":"/v1/refunds/1"}`, `{"method":"DELETE","target":"/v1/refunds/1"}`},
	} {
		if got := essence(json.RawMessage(c.arguments)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
