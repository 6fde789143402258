// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import "github.com/deed-run/deed/api"

func (w *members) operation(v *api.Operation) {
	w.open()
	w.text("operation_id", string(v.OperationID))
	w.text("tenant", string(v.Tenant))
	w.text("actor", string(v.Actor))
	w.textIf("idempotency_key", v.Key)
	w.text("family", string(v.Family))
	w.text("provenance", string(v.Provenance))
	w.text("tool", string(v.Tool))
	w.text("effect", string(v.Effect))
	w.text("effect_fingerprint", string(v.EffectFingerprint))
	w.rawIf("matter", v.Matter)
	w.textIf("upstream_identity", v.UpstreamIdentity)
	w.textIf("policy_revision", v.PolicyRevision)
	w.text("payload_digest", string(v.PayloadDigest))
	if len(v.Meta) > 0 {
		w.other("meta", v.Meta)
	}
	w.rawIf("arguments", v.Arguments)
	w.text("status", string(v.Status))
	w.textIf("reason", string(v.Reason))
	w.trueIf("retryable", v.Retryable)
	w.textIf("message", v.Message)
	w.textIf("decided_by", v.DecidedBy)
	w.trueIf("no_more_attempts", v.NoMoreAttempts)
	w.trueIf("diverged", v.Diverged)
	w.trueIf("contradicted", v.Contradicted)
	w.number("attempt", int64(v.Attempt))
	w.attempts(v.Attempts)
	if v.Receipt != nil {
		w.name("receipt")
		w.receipt(v.Receipt)
	}
	if len(v.Receipts) > 0 {
		w.name("receipts")
		separator := byte('[')
		for i := range v.Receipts {
			w.doc = append(w.doc, separator)
			w.receipt(&v.Receipts[i])
			separator = ','
		}
		w.doc = append(w.doc, ']')
	}
	w.textIf("result_digest", string(v.ResultDigest))
	w.trueIf("result_is_error", v.ResultIsError)
	w.textIf("supersedes", string(v.Supersedes))
	w.textIf("superseded_by", string(v.SupersededBy))
	if v.Approval != nil {
		w.other("approval", v.Approval)
	}
	w.time("created_at", v.CreatedAt)
	w.timeIf("authorized_at", v.AuthorizedAt)
	w.timeIf("expires_at", v.ExpiresAt)
	w.timeIf("dispatch_by", v.DispatchBy)
	w.timeIf("lease_expires_at", v.LeaseExpiresAt)
	w.timeIf("input_expires_at", v.InputExpiresAt)
	w.timeIf("retry_at", v.RetryAt)
	w.timeIf("settled_at", v.SettledAt)
	w.timeIf("delivered_at", v.DeliveredAt)
	w.number("version", v.Version)
	w.close()
}

func (w *members) attempts(list []api.Attempt) {
	if len(list) == 0 {
		return
	}
	w.name("attempts")
	separator := byte('[')
	for i := range list {
		w.doc = append(w.doc, separator)
		w.attempt(&list[i])
		separator = ','
	}
	w.doc = append(w.doc, ']')
}

func (w *members) attempt(a *api.Attempt) {
	w.open()
	w.number("attempt", int64(a.Attempt))
	w.textIf("worker", a.Worker)
	w.time("begun_at", a.BegunAt)
	w.time("send_by", a.SendBy)
	w.trueIf("cleared", a.Cleared)
	w.trueIf("proved", a.Proved)
	w.textIf("observed_outcome", string(a.Outcome))
	w.timeIf("ended_at", a.EndedAt)
	if len(a.Bookings) > 0 {
		w.other("bookings", a.Bookings)
	}
	if a.Probing != nil {
		w.other("probing", a.Probing)
	}
	w.close()
}
