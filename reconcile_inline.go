// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"time"
)

// inlinePatience is how long a call waits for a look-up.
const inlinePatience = 5 * time.Second

// lookFirst reports whether the call has looked its own uncertain operation
// up, once, so that it is worth asking again where it stands. Nothing is
// looked up that is not due, that another process is looking up, or that was
// left to a person.
func (c *claim) lookFirst(ctx context.Context, r ruling, now time.Time) bool {
	if c.looked || c.within != nil || c.observes() || !c.rule.ReconcileInline || c.rt.reconciler == nil || r.twin || r.hidden || r.op == nil ||
		r.act != actAnswer || r.decision != Uncertain || r.op.EffectiveState(now) != StateUncertain || r.op.Reason == ReasonFoundMany {
		return false
	}
	c.looked = true
	if p := r.op.Current().Probing; p != nil && (!p.GaveUpAt.IsZero() || now.Before(p.NextAt) || now.Before(p.LeasedUntil)) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, inlinePatience)
	defer cancel()
	who := Principal{Tenant: r.op.Tenant, Actor: reconcilerActor, Rights: []Right{RightRead, RightResolve}}
	finding, err := c.rt.look(ctx, lookup{who: who, tenant: r.op.Tenant, id: r.op.ID, asked: true})
	return err == nil && finding.Operation.State() != StateUncertain
}
