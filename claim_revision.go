// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// MetaRevision is the entry of [Operation.Meta] that holds the version of what
// an operation is about, where [Call.Revision] reads one.
const MetaRevision = "revision"

// revisionPatience bounds one reading of a revision.
const revisionPatience = 20 * time.Second

// readRevision reads the version of what the call is about. It stands right
// before each transaction that may propose or begin, because nothing foreign
// may be waited for inside of one; what changes after it is read is as late as
// what changes after the request has left.
func (c *claim) readRevision() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.caller), revisionPatience)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			c.noRevision = fmt.Errorf("reading it panicked: %v", p)
		}
	}()
	c.revision, c.noRevision = c.call.Revision(ctx)
}

// otherRevision says why a first attempt may not begin, or a proposal not be
// made, for the version of what it is about; "" when it may. A retry is never
// compared: its own earlier attempt may be what changed it. What a person has
// approved since then is: the version was read after that attempt.
func (c *claim) otherRevision(r ruling) string {
	if c.call.Revision == nil || r.op != nil && r.op.Current() != nil && r.op.State() != StateAuthorized {
		return ""
	}
	if c.noRevision != nil {
		return "its revision cannot be read: " + c.noRevision.Error()
	}
	if r.op == nil || r.act != actBegin || r.op.Approval == nil {
		return ""
	}
	if was := r.op.Approval.Revision; was != c.revision {
		return fmt.Sprintf("it was approved for revision %q and is at %q", was, c.revision)
	}
	return ""
}

// withRevision adds the version to the facts that are kept of a call.
func (c *claim) withRevision(meta map[string]string) map[string]string {
	if c.call.Revision == nil {
		return meta
	}
	return withMeta(meta, MetaRevision, c.revision)
}

// withMeta is meta with one more entry.
func withMeta(meta map[string]string, name, value string) map[string]string {
	all := maps.Clone(meta)
	if all == nil {
		all = map[string]string{}
	}
	all[name] = value
	return all
}
