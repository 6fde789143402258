// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/deed-run/deed"
)

// Query selects operations; its zero value selects all that the caller may
// see. What is set must all hold.
type Query struct {
	// Statuses are statuses or the groups pending, accepted, failed, uncertain,
	// closed; any of them.
	Statuses    []deed.Filter
	Tool        deed.Tool
	Actor       deed.Actor
	Key         string
	Fingerprint deed.Fingerprint
	// Matter is the JSON list of the values that name the subject.
	Matter deed.Matter
	Reason deed.Reason
	Meta   map[string]string
	// NeedsPerson leaves the uncertain operations that no look-up moves on; it
	// goes with no status.
	NeedsPerson bool
	// Before is the cursor of a page: the Next of the one before.
	Before string
	// Limit bounds a page: 1 to 1000, by default 50.
	Limit int
}

// Values writes the query as the parameters of GET /v1/operations.
func (q Query) Values() url.Values {
	v := url.Values{}
	for _, status := range q.Statuses {
		v.Add("status", string(status))
	}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("tool", string(q.Tool))
	set("actor", string(q.Actor))
	set("key", q.Key)
	set("fingerprint", string(q.Fingerprint))
	set("matter", string(q.Matter))
	set("reason", string(q.Reason))
	set("before", q.Before)
	for name, value := range q.Meta {
		v.Set("meta."+name, value)
	}
	if q.NeedsPerson {
		v.Set("needs_person", "true")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Page returns one page of operations, without arguments and results.
func (c *Client) Page(ctx context.Context, query Query) (Operations, error) {
	var page Operations
	err := c.get(ctx, "/v1/operations", query.Values(), &page)
	return page, err
}

// Operations goes through all operations of the query, newest first, a page at
// a time. An error ends it.
func (c *Client) Operations(ctx context.Context, query Query) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		for {
			page, err := c.Page(ctx, query)
			if err != nil {
				yield(Operation{}, err)
				return
			}
			for _, op := range page.Operations {
				if !yield(op, nil) {
					return
				}
			}
			if query.Before = page.Next; query.Before == "" {
				return
			}
		}
	}
}
