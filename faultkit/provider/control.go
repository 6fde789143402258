// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// controlHandler is the control port. Listings take tool, op and at_least; with
// at_least they answer as soon as so many rows match.
//
//	POST /faults    an order {tool, fault, times, params} or a list of them
//	GET  /faults    the orders that can still hit a call
//	GET  /effects   the effect ledger      GET  /requests  the request ledger
//	GET  /held      how many calls wait    POST /release   {tool} let them go on
//	GET  /settings  POST /settings         the lasting traits (a partial update)
//	POST /reset     empty ledgers, no faults, first settings
//	POST /sessions/forget                  MCP sessions become unknown
func (p *Provider) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /faults", p.postFaults)
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, p.faults.pending(), nil) })
	mux.HandleFunc("GET /effects", func(w http.ResponseWriter, r *http.Request) {
		list, err := p.Effects(r.Context(), selection(r))
		answerJSON(w, notNil(list), err)
	})
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, r *http.Request) {
		list, err := p.Requests(r.Context(), selection(r))
		answerJSON(w, notNil(list), err)
	})
	mux.HandleFunc("GET /held", p.getHeld)
	mux.HandleFunc("POST /release", p.postRelease)
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, p.Settings(), nil) })
	mux.HandleFunc("POST /settings", p.postSettings)
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, struct{}{}, p.Reset()) })
	mux.HandleFunc("POST /sessions/forget", func(w http.ResponseWriter, _ *http.Request) {
		p.ForgetSessions()
		answerJSON(w, struct{}{}, nil)
	})
	mux.HandleFunc("POST /child/line", p.postChildLine)
	mux.HandleFunc("GET /child", p.getChild)
	return mux
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func selection(r *http.Request) Selection {
	atLeast, _ := strconv.Atoi(r.FormValue("at_least"))
	return Selection{Tool: r.FormValue("tool"), Op: r.FormValue("op"), AtLeast: atLeast}
}

func (p *Provider) postFaults(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var list []Fault
	if err == nil && bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = strict(body, &list)
	} else if err == nil {
		list = make([]Fault, 1)
		err = strict(body, &list[0])
	}
	if err == nil {
		err = p.SetFaults(list...)
	}
	answerJSON(w, list, err)
}

func strict(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("control request: %w: nothing was changed", err)
	}
	return nil
}

func (p *Provider) getHeld(w http.ResponseWriter, r *http.Request) {
	s := selection(r)
	for {
		n, changed := p.holds.held(s.Tool)
		if n >= s.AtLeast {
			answerJSON(w, map[string]int{"held": n}, nil)
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (p *Provider) postRelease(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Tool string `json:"tool"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		err = strict(body, &order)
	}
	if err != nil {
		answerJSON(w, nil, err)
		return
	}
	answerJSON(w, map[string]int{"released": p.Release(order.Tool)}, nil)
}

func (p *Provider) postSettings(w http.ResponseWriter, r *http.Request) {
	s := p.Settings()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = strict(body, &s)
	}
	if err == nil {
		err = p.Configure(s)
	}
	answerJSON(w, s, err)
}

// postChildLine answers one JSON-RPC line that a stdio child received.
func (p *Provider) postChildLine(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
	if err != nil {
		answerJSON(w, nil, err)
		return
	}
	if refusing, _ := p.gate.state(); refusing {
		answerJSON(w, Answer{Delivery: Dropped}, nil)
		return
	}
	answerJSON(w, p.Message(r.Context(), raw, "stdio", ""), nil)
}

// getChild stays open as long as a stdio child may live.
func (p *Provider) getChild(w http.ResponseWriter, r *http.Request) {
	refusing, closes := p.gate.state()
	if refusing {
		http.Error(w, "no child may run while connections are refused", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	select {
	case <-closes:
	case <-r.Context().Done():
	}
}

func answerJSON(w http.ResponseWriter, value any, err error) {
	if err != nil {
		writeJSON(w, http.StatusBadRequest, line(map[string]string{"error": err.Error()}))
		return
	}
	writeJSON(w, http.StatusOK, line(value))
}
