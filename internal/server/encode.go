// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// encode writes an answer's body as encoding/json does, HTML left as it is, and
// ends the line. The answer to a call, which most requests get, is written
// member by member: by reflection it would cost more than all else that this
// package does for the call.
func encode(body any) ([]byte, error) {
	answer, is := body.(api.CallAnswer)
	if !is {
		return reflected(body)
	}
	w := &members{doc: make([]byte, 0, 2560)}
	w.verdict(&answer.Verdict)
	return append(w.doc, '\n'), w.err
}

// reflected encodes any value, with a line's end.
func reflected(value any) ([]byte, error) {
	var doc bytes.Buffer
	encoder := json.NewEncoder(&doc)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return doc.Bytes(), err
}

// members writes objects member by member. Its first error is kept.
type members struct {
	doc []byte
	err error
}

func (w *members) open()  { w.doc = append(w.doc, '{') }
func (w *members) close() { w.doc = append(w.doc, '}') }

// name begins a member.
func (w *members) name(name string) {
	if w.doc[len(w.doc)-1] != '{' {
		w.doc = append(w.doc, ',')
	}
	w.doc = append(append(append(w.doc, '"'), name...), `":`...)
}

func (w *members) text(name, value string) {
	w.name(name)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			w.value(value)
			return
		}
	}
	w.doc = append(append(append(w.doc, '"'), value...), '"')
}

func (w *members) textIf(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *members) number(name string, value int64) {
	w.name(name)
	w.doc = strconv.AppendInt(w.doc, value, 10)
}

func (w *members) trueIf(name string, value bool) {
	if value {
		w.name(name)
		w.doc = append(w.doc, "true"...)
	}
}

func (w *members) time(name string, value time.Time) {
	w.name(name)
	w.doc = append(w.doc, '"')
	doc, err := value.AppendText(w.doc)
	if err != nil {
		w.fail(err)
		return
	}
	w.doc = append(doc, '"')
}

func (w *members) timeIf(name string, value time.Time) {
	if !value.IsZero() {
		w.time(name, value)
	}
}

// rawIf writes a document that is known to be JSON.
func (w *members) rawIf(name string, doc json.RawMessage) {
	switch {
	case len(doc) == 0:
	case bytes.ContainsAny(doc, " \t\r\n"):
		w.other(name, doc)
	default:
		w.name(name)
		w.doc = append(w.doc, doc...)
	}
}

// other writes what is seldom there.
func (w *members) other(name string, value any) {
	w.name(name)
	w.value(value)
}

func (w *members) value(value any) {
	doc, err := reflected(value)
	if err != nil {
		w.fail(err)
		return
	}
	w.doc = append(w.doc, bytes.TrimSuffix(doc, []byte("\n"))...)
}

func (w *members) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *members) verdict(v *api.Verdict) {
	w.open()
	w.textIf("decision", string(v.Decision))
	w.textIf("reason", string(v.Reason))
	w.textIf("would_be", string(v.WouldBe))
	if v.RetryAfter != 0 {
		w.other("retry_after", v.RetryAfter)
	}
	w.textIf("similar_to", string(v.SimilarTo))
	w.textIf("twin", string(v.Twin))
	w.textIf("warning", v.Warning)
	if v.Operation != nil {
		w.name("operation")
		w.operation(v.Operation)
	}
	w.rawIf("result", v.Result)
	if len(v.ResultBytes) > 0 {
		w.other("result_bytes", v.ResultBytes)
	}
	w.close()
}

func (w *members) receipt(r *deed.Receipt) {
	if len(r.Items) > 0 || len(r.Result) > 0 {
		w.value(r)
		return
	}
	w.open()
	w.textIf("idempotency_key", r.IdempotencyKey)
	w.text("effect_fingerprint", string(r.EffectFingerprint))
	w.text("status", string(r.Status))
	w.textIf("remote_system", r.RemoteSystem)
	w.textIf("remote_id", r.RemoteID)
	w.textIf("remote_url", r.RemoteURL)
	w.time("committed_at", r.CommittedAt)
	w.text("operation_id", string(r.OperationID))
	w.number("attempt", int64(r.Attempt))
	w.text("established", r.Established)
	w.text("established_by", r.EstablishedBy)
	w.textIf("result_digest", string(r.ResultDigest))
	w.close()
}
