// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/deed-run/deed"
)

// ended counts the ends of a transaction that never wrote.
type ended struct {
	deed.TxStore
	times int
}

func (e *ended) Rollback(context.Context) error { e.times++; return nil }

func TestWithoutAFunctionNothingIsClaimed(t *testing.T) {
	b := newRig(t, nil)
	tx := &ended{}
	for name, do := range map[string]func() (deed.Answer, error){
		"Do":   func() (deed.Answer, error) { return b.rt.Do(context.Background(), refund("12"), nil) },
		"DoTx": func() (deed.Answer, error) { return deed.DoTx(context.Background(), b.rt, tx, refund("12"), nil) },
	} {
		answer, err := do()
		if err == nil || !strings.Contains(err.Error(), "the function is nil") || answer.Decision != "" {
			t.Errorf("%s: %s, %v", name, answer.Decision, err)
		}
	}
	if tx.times != 1 {
		t.Errorf("the transaction was ended %d times", tx.times)
	}
	page, err := b.rt.List(context.Background(), agent, deed.Query{})
	if err != nil || len(page.Operations) != 0 {
		t.Errorf("%d operations, %v", len(page.Operations), err)
	}
	b.want(b.do(refund("12")), deed.Execute, "", 1)
}
