// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/keyheader"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// Names in _meta that are deed's.
const (
	metaPrefix      = "deed/"
	metaKey         = "deed/idempotency-key"
	metaSession     = "deed/session"
	metaFingerprint = "deed/effect_fingerprint"
	metaExpires     = "deed/expires_at"
	metaOperation   = "deed/operation"
	metaTool        = "deed/tool"
)

// request is a tools/call taken apart: what identifies it, and what goes upstream.
type request struct {
	name      string
	arguments json.RawMessage // as the tool will receive them
	modelKey  json.RawMessage // value of the argument that deed added, nil without one
	meta      json.RawMessage
	token     json.RawMessage // progressToken
	upstream  json.RawMessage // params without any key and anything of deed's in _meta; arguments stripped
}

// takeApart reads params. added says that deed added the key argument to this tool's schema, so that it is stripped.
func takeApart(params json.RawMessage, added bool) (request, error) {
	var r request
	var err error
	r.upstream, r.arguments = params, json.RawMessage("{}")
	if value, ok := rawjson.Get(params, "arguments"); ok {
		r.arguments = value
	}
	r.name, _ = rawjson.Text(params, "name")
	r.meta, _ = rawjson.Get(params, "_meta")
	r.token, _ = rawjson.Get(r.meta, "progressToken")
	if plainParams(params) {
		return r, nil
	}
	if added {
		rest, value, found, err := rawjson.Remove(r.arguments, keyArgument)
		if err != nil {
			return r, fmt.Errorf("arguments: %w", err)
		}
		if found {
			r.modelKey, r.arguments = value, rest
			if r.upstream, err = rawjson.Set(r.upstream, rest, "arguments"); err != nil {
				return r, err
			}
		}
	}
	if r.upstream, _, _, err = rawjson.Remove(r.upstream, "idempotencyKey"); err != nil {
		return r, err
	}
	members, err := rawjson.Members(r.meta)
	if err != nil {
		return r, nil //nolint:nilerr // no _meta object: nothing of ours is in it
	}
	kept := 0
	for _, m := range members {
		if !strings.HasPrefix(m.Name, metaPrefix) && m.Name != "idempotencyKey" {
			kept++
			continue
		}
		if r.upstream, _, _, err = rawjson.Remove(r.upstream, "_meta", m.Name); err != nil {
			return r, err
		}
	}
	if kept == 0 && len(members) > 0 {
		r.upstream, _, _, err = rawjson.Remove(r.upstream, "_meta")
	}
	return r, err
}

// plainParams reports that nothing in params can be of deed's, so that they go on as they are. An escape could hide a name.
func plainParams(params json.RawMessage) bool {
	return bytes.IndexByte(params, '\\') < 0 && !bytes.Contains(params, []byte("idempotency")) && !bytes.Contains(params, []byte(metaPrefix))
}

// carriers finds the identities on the request, the most trustworthy first: docs/tables.md section 3.
func (g *Gate) carriers(s *Session, params json.RawMessage, r request, h http.Header, d *described) []deed.Carrier {
	rule := d.rule
	var list []deed.Carrier
	add := func(p deed.Provenance, key, wrong, name string) {
		list = append(list, deed.Carrier{Provenance: p, Identity: deed.IdentityOf(rule.Identity, key), Name: name, Wrong: wrong})
	}
	keys, wrong := keyheader.Keys(h)
	if wrong != "" {
		keys = []string{""}
	}
	for _, key := range keys {
		add(deed.ProvenanceRuntime, key, wrong, "the header "+keyheader.Name)
	}
	// A program that sends an empty key meant to name the call: no model names it instead.
	named := func(name string, path ...string) {
		if value, sent := rawjson.Get(params, path...); sent {
			key, wrong := keyheader.Member(value)
			add(deed.ProvenanceRuntime, key, wrong, name)
		}
	}
	named(`_meta["`+metaKey+`"]`, "_meta", metaKey)
	named("_meta.idempotencyKey", "_meta", "idempotencyKey")
	if rule.Identity == deed.FamilySecret {
		return list // a confidential key travels in a header or in _meta, nowhere else
	}
	named("params.idempotencyKey", "idempotencyKey")
	if session := sessionOf(s, params); session != "" {
		for _, name := range g.callIDs {
			value, _ := rawjson.Get(params, "_meta", name)
			if id := textOrNumber(value); id != "" {
				add(deed.ProvenanceCallID, callID(session, name, id), "", `_meta["`+name+`"]`)
				break
			}
		}
	}
	if d.own != "" {
		value, _ := rawjson.Get(params, "arguments", d.own)
		return append(list, ownCarrier(value, d)...)
	}
	if r.modelKey != nil {
		key, wrong := keyheader.Member(r.modelKey)
		add(deed.ProvenanceModel, key, wrong, keyArgument)
	}
	return list
}

// ownCarrier is the identity that an argument of the tool's own schema holds, if any. Its type is the schema's to say; an empty one is left
// out, as the tools that have such an argument take it.
func ownCarrier(value json.RawMessage, d *described) []deed.Carrier {
	key := textOrNumber(value)
	_, wrong := keyheader.Member(value)
	if key == "" && (wrong == "" || value == nil) {
		return nil
	}
	if key != "" {
		wrong = ""
	}
	return []deed.Carrier{{Provenance: deed.ProvenanceModel, Identity: deed.IdentityOf(d.rule.Identity, key), Name: d.own, Wrong: wrong}}
}

// textOrNumber is a text, or a number as it is written, and "" for anything else: that a null stands somewhere tells no two calls apart.
func textOrNumber(value json.RawMessage) string {
	if text, ok := rawjson.String(value); ok {
		return text
	}
	if len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
		return string(value)
	}
	return ""
}

// sessionOf names the session that a call id belongs to, or "": a call id without a session is no key.
func sessionOf(s *Session, params json.RawMessage) string {
	if s.ID != "" {
		return s.ID
	}
	session, _ := rawjson.Text(params, "_meta", metaSession)
	return session
}

func callID(session, name, id string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + name + "\x00" + id))
	return "c1_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// Bounds of what a call may say about itself.
const (
	maxFacts     = 32
	maxFactBytes = 256
)

// facts reads `meta.<name>`: _meta["deed/<name>"], else _meta["<name>"].
func facts(meta json.RawMessage) map[string]string {
	members, err := rawjson.Members(meta)
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, ours := range []bool{true, false} {
		for _, m := range members {
			name, prefixed := strings.CutPrefix(m.Name, metaPrefix)
			if prefixed != ours || len(found) >= maxFacts || m.Name == metaKey || m.Name == metaApproval || !ours && reserved(name) {
				continue
			}
			text, ok := rawjson.String(m.Value(meta))
			if !ok {
				text = textOrNumber(m.Value(meta))
				ok = text != ""
			}
			if _, taken := found[name]; ok && !taken && len(text) <= maxFactBytes {
				found[name] = text
			}
		}
	}
	return found
}

func reserved(name string) bool {
	switch name {
	case "progressToken", "idempotencyKey", "traceparent", "tracestate", "baggage":
		return true
	}
	prefix, _, found := strings.Cut(name, "/")
	labels := strings.Split(prefix, ".")
	return found && len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp")
}

// envelope reads the caller's own deadline and fingerprint.
func envelope(meta json.RawMessage) (expires time.Time, fingerprint deed.Fingerprint, err error) {
	if value, sent := rawjson.Get(meta, metaExpires); sent {
		text, _ := rawjson.String(value)
		if expires, err = time.Parse(time.RFC3339, text); err != nil {
			return expires, "", fmt.Errorf("_meta[%q] is no RFC 3339 time", metaExpires)
		}
	}
	value, sent := rawjson.Get(meta, metaFingerprint)
	text, ok := rawjson.String(value)
	if sent && !ok {
		return expires, "", fmt.Errorf("_meta[%q] is no string", metaFingerprint)
	}
	return expires, deed.Fingerprint(text), nil
}
