// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/api"
)

func TestWhatWaitsIsShownWithTheFenceThatStands(t *testing.T) {
	r := newRig(t, needsOne)
	path := "/v1/operations/" + string(proposed(r).Operation.OperationID)
	shown := func() *api.Fence {
		t.Helper()
		var op api.Operation
		r.do(request{as: "approver", method: "GET", path: path}).into(200, &op)
		return op.Fence
	}
	if got := shown(); got != nil {
		t.Errorf("without a fence: %+v", got)
	}
	r.fence = &api.Fence{Since: noon.Add(-time.Hour), SetAt: noon}
	if diff := cmp.Diff(r.fence, shown()); diff != "" {
		t.Errorf("under a fence:\n%s", diff)
	}
	r.fence = nil
	if got := shown(); got != nil {
		t.Errorf("after the fence: %+v", got)
	}
}
