// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit_test

import "testing"

// A receipt is added together with an event: one without was put in by hand.
func TestAReceiptThatWasPutInIsFound(t *testing.T) {
	s := newScene(t)
	s.append(t)
	s.change(t, `INSERT INTO receipts SELECT operation, number + 1, idempotency_key, effect_fingerprint, status, remote_system, 'forged',
		remote_url, committed_at, operation_id, attempt, established, established_by, items, result_digest FROM receipts`)
	if got := s.verify(t); got.Found == 0 {
		t.Errorf("the report is %+v", got)
	}
}
