// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// storedAnswer is what a provider key replays.
type storedAnswer struct {
	tool, args string
	structured map[string]any
}

// commit writes the effect and returns its answer; a provider that honours keys
// returns the stored one instead.
func (w *work) commit() Reply {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	stored := ""
	if w.settings.ProviderKeySupport && w.call.Key != "" {
		stored = w.call.Key
		if s, ok := w.p.stored[stored]; ok {
			if s.tool != w.tool.Name || s.args != w.request.ArgsSHA256 {
				return Reply{Status: 422, Structured: refusal("invalid input: this key belongs to another request")}
			}
			return Reply{Structured: s.structured}
		}
	}
	if w.settings.UniqueIDs && w.p.taken(w.tool.Name, w.args) {
		return Reply{Status: 409, Structured: refusal("client_id exists already: nothing was made")}
	}
	items, batch := w.items()
	if batch {
		return w.commitItems(items, len(items), stored)
	}
	effect, err := w.effect(w.call.Arguments, w.args)
	if err != nil {
		return internal(err)
	}
	return w.store(stored, effectAnswer(effect))
}

func effectAnswer(e Effect) map[string]any {
	return map[string]any{"id": e.ID, "op": e.Op, "tool": e.Tool}
}

func (w *work) store(key string, structured map[string]any) Reply {
	if key != "" {
		w.p.stored[key] = storedAnswer{tool: w.tool.Name, args: w.request.ArgsSHA256, structured: structured}
	}
	return Reply{Structured: structured}
}

// restoreKeys rebuilds the stored answers of earlier effects, so that a key
// outlives a restart of the provider.
func (p *Provider) restoreKeys() error {
	for _, e := range p.ledgers.effects.all() {
		if e.Key != "" {
			p.stored[e.Key] = storedAnswer{tool: e.Tool, args: e.ArgsSHA256, structured: effectAnswer(e)}
		}
	}
	return nil
}

func (w *work) effect(raw json.RawMessage, args map[string]json.RawMessage) (Effect, error) {
	return w.p.ledgers.effects.append(func(seq int) Effect {
		return Effect{
			Seq: seq, Op: w.tool.operation(args), ArgsSHA256: digest(raw), At: w.p.now(), Tool: w.tool.Name,
			ID: fmt.Sprintf("%s_%06d", w.tool.prefix, seq), Key: w.call.Key, Marker: marker(raw, args),
			RequestID: w.request.ID, Args: raw,
		}
	})
}

// taken reports whether an effect of the tool carries the client_id.
func (p *Provider) taken(tool string, args map[string]json.RawMessage) bool {
	var wanted string
	if json.Unmarshal(args["client_id"], &wanted) != nil || wanted == "" {
		return false
	}
	for _, e := range p.ledgers.effects.all() {
		var made struct {
			ClientID string `json:"client_id"`
		}
		if e.Tool == tool && json.Unmarshal(e.Args, &made) == nil && made.ClientID == wanted {
			return true
		}
	}
	return false
}

var commentMarker = regexp.MustCompile(`<!-- *(.*?) *-->`)

// marker is a token that a caller planted: a marker member, metadata.op, or an
// HTML comment in any text.
func marker(raw json.RawMessage, args map[string]json.RawMessage) string {
	var text string
	if json.Unmarshal(args["marker"], &text) == nil && text != "" {
		return text
	}
	var metadata struct {
		Op string `json:"op"`
	}
	if json.Unmarshal(args["metadata"], &metadata) == nil && metadata.Op != "" {
		return metadata.Op
	}
	var any any
	if json.Unmarshal(raw, &any) != nil {
		return ""
	}
	return commentIn(any)
}

func commentIn(value any) string {
	switch v := value.(type) {
	case string:
		if m := commentMarker.FindStringSubmatch(v); m != nil {
			return m[1]
		}
	case map[string]any:
		for _, member := range v {
			if found := commentIn(member); found != "" {
				return found
			}
		}
	}
	return ""
}

// items are the members of a batch.
func (w *work) items() (items []json.RawMessage, batch bool) {
	batch = json.Unmarshal(w.args["items"], &items) == nil && items != nil
	return items, batch
}

func (w *work) partial(f Fault) Reply {
	items, batch := w.items()
	if !batch {
		return Reply{Error: &RPCError{Code: -32602, Message: "Invalid arguments: the fault partial needs items"}}
	}
	w.p.mu.Lock()
	reply := w.commitItems(items, min(f.Params.K, len(items)), "")
	w.p.mu.Unlock()
	if f.Params.Drop {
		return Reply{Delivery: Dropped}
	}
	return reply
}

// commitItems makes the first k items and refuses the rest; the caller holds the
// lock.
func (w *work) commitItems(items []json.RawMessage, k int, key string) Reply {
	answers := []map[string]any{}
	for i, raw := range items {
		var item map[string]json.RawMessage
		_ = json.Unmarshal(raw, &item)
		if i >= k {
			answers = append(answers, map[string]any{"op": w.tool.operation(item), "status": "refused", "reason": "over the limit"})
			continue
		}
		effect, err := w.effect(raw, item)
		if err != nil {
			return internal(err)
		}
		answers = append(answers, map[string]any{"op": effect.Op, "status": "created", "id": effect.ID})
	}
	return w.store(key, map[string]any{"id": w.request.ID, "items": answers})
}

// lookUp answers the read-only tools from the effect ledger.
func (w *work) lookUp() Reply {
	takes := time.Duration(w.settings.LookupMS) * time.Millisecond
	if takes > 0 && !w.p.holds.wait(w.tool.Name, takes, nil) {
		return Reply{Delivery: Dropped}
	}
	items := []map[string]any{}
	switch w.settings.Lookup {
	case Unavailable:
		return Reply{Status: 503}
	case Found:
		indexed := w.p.now().Add(-time.Duration(w.settings.IndexLagMS) * time.Millisecond)
		for _, e := range w.candidates() {
			if w.matches(e) && !e.At.After(indexed) {
				items = append(items, listed(e))
			}
		}
	}
	return Reply{Structured: map[string]any{"items": items}}
}

func (w *work) matches(e Effect) bool {
	var wanted string
	_ = json.Unmarshal(w.args[w.tool.business], &wanted)
	if w.tool.Name == "pay.get" {
		return e.Op == wanted && (strings.HasPrefix(e.Tool, "pay.") || strings.HasPrefix(e.Tool, "wallet."))
	}
	return strings.Contains(string(e.Args), wanted) || e.ID == wanted || e.Marker != "" && e.Marker == wanted
}

// listed is an effect as a look-up shows it: its arguments, and what the
// provider added.
func listed(e Effect) map[string]any {
	item := map[string]any{}
	_ = json.Unmarshal(e.Args, &item)
	item["id"], item["op"], item["created_at"] = e.ID, e.Op, e.At.Format(time.RFC3339Nano)
	return item
}
