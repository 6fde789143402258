// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/canon"
)

// list answers GET /v1/operations.
func (s *Server) list(x *exchange) reply {
	query, waiting, wrong := queryOf(x)
	if wrong != "" {
		return malformed(wrong + "; nothing was looked up")
	}
	list := s.Runtime.List
	if waiting {
		list = s.Runtime.Waiting
	}
	page, err := list(x.Context(), x.who, query)
	if err != nil {
		return s.failure(err)
	}
	shown := api.Operations{Operations: make([]api.Operation, 0, len(page.Operations)), Next: string(page.Next)}
	for _, op := range page.Operations {
		shown.Operations = append(shown.Operations, s.viewFor(x.who, op, false))
	}
	return answer(http.StatusOK, shown)
}

const maxPage = 1000

// queryOf reads the filters. A misspelt one would list more than was asked
// for, so it is refused. waiting asks for what only a person moves on.
func queryOf(x *exchange) (q deed.Query, waiting bool, wrong string) {
	q = deed.Query{Meta: map[string]string{}}
	for name, values := range x.URL.Query() {
		if len(values) > 1 && name != "status" {
			return q, false, fmt.Sprintf("%s is there twice", name)
		}
		value := values[0]
		switch name {
		case "status":
			for _, word := range values {
				statuses := deed.Filter(word).Statuses()
				if statuses == nil {
					return q, false, fmt.Sprintf("there is no status %q; groups are pending, accepted, failed, uncertain, closed", word)
				}
				q.Statuses = append(q.Statuses, statuses...)
			}
			slices.Sort(q.Statuses)
			q.Statuses = slices.Compact(q.Statuses)
		case "tool":
			q.Tool = deed.Tool(value)
		case "actor":
			q.Actor = deed.Actor(value)
		case "key":
			q.Key = value
		case "fingerprint":
			q.Fingerprint = deed.Fingerprint(value)
		case "matter":
			q.Matter = matterOf(value)
		case "needs_person":
			if value != "true" {
				return q, false, "needs_person is true, or left out"
			}
			waiting = true
		case "reason":
			q.Reason = deed.Reason(value)
		case "before":
			q.Before = deed.OperationID(value)
		case "limit":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxPage {
				return q, false, fmt.Sprintf("limit is 1 to %d", maxPage)
			}
			q.Limit = n
		default:
			fact, found := strings.CutPrefix(name, "meta.")
			if !found || fact == "" {
				return q, false, fmt.Sprintf("there is no filter %q", name)
			}
			q.Meta[fact] = value
		}
	}
	if waiting && len(q.Statuses) > 0 {
		return q, false, "needs_person stands beside status: it is about uncertain operations"
	}
	return q, waiting, ""
}

// matterOf takes the JSON list of a subject's values, or the only one of them
// as plain text.
func matterOf(text string) deed.Matter {
	if strings.HasPrefix(text, "[") {
		if list, err := canon.CanonicalJSON([]byte(text)); err == nil {
			return deed.Matter(list)
		}
	}
	list, err := json.Marshal([]string{text})
	if err == nil {
		list, err = canon.CanonicalJSON(list)
	}
	if err != nil {
		return deed.Matter(text)
	}
	return deed.Matter(list)
}

// show answers GET /v1/operations/{id}.
func (s *Server) show(x *exchange) reply {
	op, err := s.Runtime.Get(x.Context(), x.who, x.id())
	if err != nil {
		return s.failure(err)
	}
	return answer(http.StatusOK, s.viewFor(x.who, op, true))
}

// events answers GET /v1/operations/{id}/events.
func (s *Server) events(x *exchange) reply {
	events, err := s.Runtime.Events(x.Context(), x.who, x.id())
	if err != nil {
		return s.failure(err)
	}
	list := api.Events{Events: make([]api.Event, 0, len(events))}
	for _, event := range events {
		list.Events = append(list.Events, viewOfEvent(x.who, event))
	}
	return answer(http.StatusOK, list)
}

// resolve answers POST /v1/operations/{id}/resolve.
func (s *Server) resolve(x *exchange) reply {
	var body api.ResolveRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	switch body.Outcome {
	case deed.ResolveCommitted, deed.ResolveNotApplied, deed.ResolveAbandon:
	default:
		return malformed("outcome is committed, not_applied or abandon; nothing was changed")
	}
	switch {
	case strings.TrimSpace(body.Reason) == "":
		return malformed("reason is missing: say how you know; nothing was changed")
	case body.NewProviderKey && body.Outcome != deed.ResolveNotApplied:
		return malformed("new_provider_key belongs to not_applied; nothing was changed")
	case len(body.RemoteIDs) > 0 && body.Outcome != deed.ResolveCommitted:
		return malformed("remote_ids belong to committed; nothing was changed")
	}
	return s.operated(s.Runtime.Resolve(x.Context(), x.who, x.id(), deed.Resolution{
		Outcome: body.Outcome, RemoteIDs: body.RemoteIDs, Reason: body.Reason, Version: body.Version, Force: body.Force, NewProviderKey: body.NewProviderKey,
	}))
}

// cancel answers POST /v1/operations/{id}/cancel.
func (s *Server) cancel(x *exchange) reply {
	var body api.ReasonRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	return s.operated(s.Runtime.Cancel(x.Context(), x.who, x.id(), body.Reason))
}

// reopen answers POST /v1/operations/{id}/reopen.
func (s *Server) reopen(x *exchange) reply {
	var body api.ReasonRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	return s.operated(s.Runtime.Reopen(x.Context(), x.who, x.id(), body.Reason))
}

func (s *Server) operated(op *deed.Operation, err error) reply {
	if err != nil {
		return s.failure(err)
	}
	return answer(http.StatusOK, s.view(op, false))
}
