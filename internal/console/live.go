// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

const (
	// maxStreams bounds the live streams of all pages.
	maxStreams = 200
	// quietFor is how long a stream says nothing before it says that it lives.
	quietFor = 20 * time.Second
	// countNewTo bounds what a notice counts.
	countNewTo = 100
)

// stream sends server-sent events while look has something to say. It ends with
// the visitor, the session and the console. look returns an event's name and
// data, or an empty name.
func (v *visit) stream(look func() (name string, data any, err error)) {
	select {
	case v.console.streams <- struct{}{}:
		defer func() { <-v.console.streams }()
	default:
		v.console.plain(v, http.StatusServiceUnavailable, "Too many pages are open. Reload to see what is new.")
		return
	}
	control := http.NewResponseController(v.ResponseWriter)
	_ = control.SetWriteDeadline(time.Time{})
	v.Header().Set("Content-Type", "text/event-stream")
	v.Header().Set("X-Accel-Buffering", "no")
	v.WriteHeader(http.StatusOK)
	send := func(text string) bool {
		_, err := fmt.Fprint(v, text)
		return err == nil && control.Flush() == nil
	}
	if !send("retry: 3000\n\n") {
		return
	}
	last, spoken := "", v.console.Clock.Now()
	for {
		name, data, err := look()
		doc, _ := json.Marshal(data)
		text := "event: " + name + "\ndata: " + string(doc) + "\n\n"
		now := v.console.Clock.Now()
		switch {
		case err != nil:
			text = "event: trouble\ndata: {}\n\n"
		case name == "":
			text = ""
		}
		if text != "" && text != last {
			if !send(text) {
				return
			}
			last, spoken = text, now
		} else if now.Sub(spoken) >= quietFor {
			if !send(": still here\n\n") {
				return
			}
			spoken = now
		}
		select {
		case <-v.Context().Done():
			return
		case <-v.console.ended:
			return
		case <-v.console.Clock.After(v.console.LookEvery):
		}
		if _, ok, err := v.console.present(v.Request); v.loggedIn && !ok && err == nil {
			send("event: ended\ndata: {}\n\n")
			return
		}
	}
}

// notice tells how many operations are new.
type notice struct {
	Count int  `json:"count"`
	More  bool `json:"more"`
}

// ledgerLive answers GET /ledger/live: how many operations of the filter have
// begun since the newest one shown.
func (v *visit) ledgerLive() {
	since := deed.OperationID(v.URL.Query().Get("after"))
	values := v.URL.Query()
	values.Del("before")
	v.stream(func() (string, any, error) {
		f, wrong := readFilter(values, v.console.Clock.Now())
		if wrong != "" {
			return "", nil, nil
		}
		query := f.query
		query.Limit = countNewTo
		page, err := v.console.Runtime.List(v.Context(), v.who, query)
		if err != nil {
			return "", nil, err
		}
		n := notice{}
		for _, op := range page.Operations {
			if op.ID > since && f.matches(op) {
				n.Count++
			}
		}
		n.More = n.Count == countNewTo
		if n.Count == 0 {
			return "", nil, nil
		}
		return "new", n, nil
	})
}

// operationLive answers GET /op/{id}/live: that the operation has moved on.
func (v *visit) operationLive() {
	shown := v.URL.Query().Get("version") + " " + v.URL.Query().Get("status")
	v.stream(func() (string, any, error) {
		op, err := v.console.glance(v.Context(), v.who, v.id())
		if err != nil {
			return "", nil, err
		}
		status := op.EffectiveStatus(v.console.Clock.Now())
		if fmt.Sprintf("%d %s", op.Version, status) == shown {
			return "", nil, nil
		}
		return "changed", map[string]string{"status": statusWords(status)}, nil
	})
}

// approvalsLive answers GET /approvals/live: which of the proposals shown have
// been decided elsewhere, and how many are new.
func (v *visit) approvalsLive() {
	var shown []deed.OperationID
	for _, id := range strings.Split(v.URL.Query().Get("shown"), ",") {
		if id != "" && len(shown) < shownApprovals {
			shown = append(shown, deed.OperationID(id))
		}
	}
	v.stream(func() (string, any, error) {
		said := struct {
			Gone map[deed.OperationID]string `json:"gone"`
			New  int                         `json:"new"`
		}{Gone: map[deed.OperationID]string{}}
		waiting := map[deed.OperationID]bool{}
		more := false
		err := v.console.each(v.Context(), v.who, deed.Query{Statuses: []deed.Status{deed.StatusAwaitingApproval}}, &more, func(op *deed.Operation) {
			waiting[op.ID] = true
		})
		if err != nil {
			return "", nil, err
		}
		for _, id := range shown {
			if waiting[id] {
				delete(waiting, id)
				continue
			}
			if op, err := v.console.glance(v.Context(), v.who, id); err == nil {
				said.Gone[id] = decidedWords(op)
			}
		}
		if said.New = len(waiting); len(said.Gone) == 0 && said.New == 0 {
			return "", nil, nil
		}
		return "approvals", said, nil
	})
}
