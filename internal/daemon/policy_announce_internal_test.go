// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

func TestGuessedReadsAreToldOnce(t *testing.T) {
	var told []string
	p := &announcing{Policy: policy.BareConfig(policy.BareOptions{}).Policy(), log: func(text string) { told = append(told, text) }}
	yes := true
	for range 3 {
		p.Rule("shop/get_order", deed.ToolFacts{})
		p.Rule("shop/pay", deed.ToolFacts{})
		p.Rule("shop/peek", deed.ToolFacts{Definition: "sha256:0", ReadOnlyHint: &yes})
	}
	want := []string{"shop/get_order is taken for a read, because its name begins with the read verb get (unknown_tool: infer)"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
