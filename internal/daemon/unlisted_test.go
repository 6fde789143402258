// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/policy"
)

func TestAnEntryThatItsUpstreamDoesNotListIsTold(t *testing.T) {
	config, err := policy.Parse("/etc/deed.yaml", []byte(strings.Join([]string{
		"upstreams: {payments: {command: [node]}, mail: {command: [node]}}",
		"tools: {payments/pay.refnd: {effect: non_idempotent}, payments/pay.charge: {effect: non_idempotent}, mail/send: {effect: non_idempotent}}",
	}, "\n")), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	listed := []policy.ListedTool{{Tool: deed.Tool("payments/pay.charge")}, {Tool: deed.Tool("payments/pay.refund")}}
	want := []string{"deed.yaml names payments/pay.refnd, which the upstream payments does not list: its rules bind nothing; write payments/pay.refund instead, or remove the entry"}
	if diff := cmp.Diff(want, daemon.Unlisted(config, "payments", listed)); diff != "" {
		t.Error(diff)
	}
}
