// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
)

// reading is a request whose whole body has arrived.
type reading struct {
	*http.Request
	values []value
	body   []byte
	// bodyKey is the member of the body that carries the key, nil without one.
	bodyKey json.RawMessage
	arrived time.Time
}

// errTooLong: the body is longer than may be kept.
var errTooLong = errors.New("the body is too long")

// read takes the whole body in: nothing is claimed for a request that breaks off.
// With errTooLong, what was read is in the reading.
func (g *Gate) read(w http.ResponseWriter, r *http.Request, route *Route, values []value) (*reading, error) {
	x := &reading{Request: r, values: values, arrived: g.clock.Now()}
	limit := route.MaxBody
	if limit == 0 {
		limit = g.maxBody
	}
	if r.Body == nil || r.Body == http.NoBody {
		return x, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(g.readWithin))
	var err error
	x.body, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	_ = control.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("the body broke off: %w", err)
	case int64(len(x.body)) > limit:
		return x, fmt.Errorf("%w: it has more than %d bytes", errTooLong, limit)
	}
	if member := route.speaks.bodyKey; member != "" && bytes.HasPrefix(bytes.TrimSpace(x.body), []byte("{")) {
		var members map[string]json.RawMessage
		if json.Unmarshal(x.body, &members) == nil { // route.arguments says what is wrong with it
			x.bodyKey = members[member]
		}
	}
	return x, nil
}

const (
	metaPrefix        = "Deed-Meta-"
	headerExpires     = "Deed-Expires-At"
	headerFingerprint = "Deed-Effect-Fingerprint"
	maxMeta           = 32
	maxMetaBytes      = 256
)

// call is what the Runtime is asked; wrong says why the request means nothing.
func (g *Gate) call(route *Route, who deed.Principal, x *reading) (call deed.Call, reason deed.Reason, wrong string) {
	call = deed.Call{
		Principal: who, Tool: route.tool(), VisibleASCIIKeys: !route.speaks.strictKeys, ArrivedAt: x.arrived,
		Facts:             deed.ToolFacts{UpstreamIdentity: g.identity},
		EffectFingerprint: deed.Fingerprint(x.Header.Get(headerFingerprint)),
	}
	if route.As != "" {
		call.KeyArgument = route.speaks.bodyKey
	}
	if call.Meta, wrong = metaOf(x.Header); wrong != "" {
		return call, deed.ReasonBadArguments, wrong
	}
	if text := x.Header.Get(headerExpires); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return call, deed.ReasonBadArguments, headerExpires + " is no time of RFC 3339"
		}
		call.ExpiresAt = at
	}
	if call.Carriers, wrong = route.carriers(x); wrong != "" {
		return call, deed.ReasonBadKey, wrong
	}
	arguments, err := route.arguments(x)
	if err != nil {
		return call, deed.ReasonBadArguments, err.Error()
	}
	call.Arguments = arguments
	return call, "", ""
}

// metaOf reads the facts that the caller states about the request.
func metaOf(h http.Header) (map[string]string, string) {
	meta := map[string]string{}
	for name, values := range h {
		if short, ok := strings.CutPrefix(name, metaPrefix); ok && short != "" {
			if len(values) > 1 || len(values[0]) > maxMetaBytes || len(short) > maxMetaBytes {
				return nil, fmt.Sprintf("the header %s is there twice or longer than %d bytes", name, maxMetaBytes)
			}
			if err := legible("the header "+name, values[0]); err != nil {
				return nil, err.Error()
			}
			meta[strings.ToLower(short)] = values[0]
		}
	}
	if len(meta) > maxMeta {
		return nil, fmt.Sprintf("there are more than %d headers %s*", maxMeta, metaPrefix)
	}
	return meta, ""
}
