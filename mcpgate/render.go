// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// operationNote is _meta["deed/operation"].
type operationNote struct {
	ID          deed.OperationID `json:"id,omitempty"`
	Key         string           `json:"key,omitempty"`
	Provenance  deed.Provenance  `json:"provenance,omitempty"`
	Status      deed.Status      `json:"status,omitempty"`
	Decision    deed.Decision    `json:"decision"`
	Reason      deed.Reason      `json:"reason,omitempty"`
	Replayed    bool             `json:"replayed"`
	Attempt     int              `json:"attempt,omitempty"`
	Fingerprint deed.Fingerprint `json:"fingerprint,omitempty"`
	Receipt     *deed.Receipt    `json:"receipt,omitempty"`
	RetryAfter  float64          `json:"retry_after,omitempty"`
	SimilarTo   deed.OperationID `json:"similar_to,omitempty"`
	Twin        deed.OperationID `json:"twin,omitempty"`
	Warning     string           `json:"warning,omitempty"`
	Current     string           `json:"current,omitempty"`
	WouldBe     deed.Decision    `json:"would_be,omitempty"`
}

func noteOf(a deed.Answer) operationNote {
	n := operationNote{
		Decision: a.Decision, Reason: a.Reason, Replayed: a.Replayed(), Fingerprint: a.Received, RetryAfter: seconds(a.RetryAfter),
		SimilarTo: a.SimilarTo, Twin: a.Twin, Warning: a.Warning, Current: a.Current, WouldBe: a.WouldBe,
	}
	if op := a.Operation; op != nil {
		n.ID, n.Provenance, n.Status, n.Attempt, n.Receipt = op.ID, op.Key.Provenance, a.Effective, op.AttemptNumber(), op.Receipt()
		n.Fingerprint = op.Fingerprint
		if op.Key.Family != deed.FamilySecret && op.Key.Provenance != deed.ProvenanceNone {
			n.Key = op.Key.Text
		}
	}
	return n
}

func seconds(d time.Duration) float64 { return float64((d + time.Second - 1) / time.Second) }

// verdictBlock is the JSON that follows the prose of a refusal.
type verdictBlock struct {
	Status              string           `json:"status"`
	Stored              bool             `json:"stored,omitempty"` // an earlier attempt's end: nothing was sent now
	Reason              deed.Reason      `json:"reason,omitempty"`
	OperationID         deed.OperationID `json:"operation_id,omitempty"`
	Next                string           `json:"next"`
	SayToUser           string           `json:"say_to_user"`
	RetryAfter          float64          `json:"retry_after,omitempty"`
	SimilarTo           deed.OperationID `json:"similar_to,omitempty"`
	Twin                deed.OperationID `json:"twin,omitempty"`
	ExistingFingerprint deed.Fingerprint `json:"existing_fingerprint,omitempty"`
	ReceivedFingerprint deed.Fingerprint `json:"received_fingerprint,omitempty"`
	ExistingRemoteID    string           `json:"existing_remote_id,omitempty"`
	Warning             string           `json:"warning,omitempty"`
}

func blockOf(a deed.Answer, p wording) verdictBlock {
	b := verdictBlock{
		Status: string(a.Decision), Reason: a.Reason, Next: p.Next, SayToUser: p.Say, RetryAfter: seconds(a.RetryAfter),
		SimilarTo: a.SimilarTo, Twin: a.Twin, Warning: a.Warning,
	}
	b.Stored = a.Decision == deed.Failed || a.Decision == deed.Uncertain && a.Reason == deed.ReasonToolError
	if a.Decision == deed.Execute && a.Effective != "" {
		b.Status = string(a.Effective)
	}
	op := a.Operation
	if op == nil {
		return b
	}
	b.OperationID = op.ID
	if a.Decision == deed.Conflict {
		b.ExistingFingerprint, b.ReceivedFingerprint = op.Fingerprint, a.Received
		if r := op.Receipt(); r != nil {
			b.ExistingRemoteID = r.RemoteID
		}
	}
	return b
}

// render makes the reply to a tools/call from an answer. A result of the upstream keeps its bytes: what deed adds stands in _meta and in
// text blocks of its own.
func (g *Gate) render(m Message, s *Session, d *described, a deed.Answer, recorded bool) Message {
	if !recorded && a.Decision == deed.Execute {
		return ResultMessage(m.ID, a.Result)
	}
	result := a.Result
	if !speaksForItself(a) {
		result = g.worded(m, s, d, a)
	}
	if _, typed := rawjson.Get(result, "resultType"); !typed && modernVersion(m, nil) != "" {
		// MCP 2026-07-28 requires it of every result; a stored one of that era has it already.
		if with, err := rawjson.Set(result, []byte(`"complete"`), "resultType"); err == nil {
			result = with
		}
	}
	note, err := json.Marshal(noteOf(a))
	if err == nil {
		if with, err := rawjson.Set(result, note, "_meta", metaOperation); err == nil {
			result = with
		}
	}
	return ResultMessage(m.ID, result)
}

// speaksForItself says that a call was carried out just now, to its end, and that nothing is to be said beside the tool's own result. Most
// calls end so.
func speaksForItself(a deed.Answer) bool {
	if a.Decision != deed.Execute || a.Effective != deed.StatusCommitted || len(a.Result) == 0 || a.Warning != "" {
		return false
	}
	return a.Operation == nil || a.Operation.Receipt() == nil || len(a.Operation.Receipt().Items) == 0
}

// worded is the result with what deed has to say about it.
func (g *Gate) worded(m Message, s *Session, d *described, a deed.Answer) []byte {
	about := situate(a, d, g.around(s, d))
	about.sample = sampleKey(d.Name, m.Params)
	about.spoken(d, m.Params)
	p := about.prose()
	var result []byte
	switch {
	case a.Decision == deed.Execute && a.Effective == deed.StatusCommitted && len(a.Result) > 0,
		a.Decision == deed.Execute && a.Operation == nil && len(a.Result) > 0,
		a.Effective == deed.StatusAwaitingInput && len(a.Result) > 0,
		a.Decision == deed.Execute && a.Effective == deed.StatusExecuting && len(a.Result) > 0:
		result = a.Result
		if a.Warning != "" {
			result = appendText(result, fmt.Sprintf("Note: this content was refused before, as a change of %s. It ran now as a separate action. Tell the user that there are two.", a.Warning))
		}
	case a.Decision == deed.Execute && a.Effective == deed.StatusCommitted && about.partial() == "":
		result = textResult(false, "Done.")
	case a.Decision == deed.Execute && a.Effective == deed.StatusCommitted:
		result = textResult(false)
	case a.Decision == deed.Replay && len(a.Result) == 0:
		result = textResult(shownAsError(a, d), p.Text, jsonText(blockOf(a, p)))
	case a.Decision == deed.Replay:
		result = appendText(a.Result, p.Text)
	case a.Reason == deed.ReasonToolError && isErrorResult(a.Result), a.Effective == deed.StatusFailed && isErrorResult(a.Result):
		result = appendText(a.Result, p.Text, jsonText(blockOf(a, p)))
	case a.Reason == deed.ReasonToolError && a.Text != "":
		result = textResult(true, a.Text, p.Text, jsonText(blockOf(a, p)))
	default:
		result = textResult(true, p.Text, jsonText(blockOf(a, p)))
	}
	if text := about.partial(); text != "" && a.Effective == deed.StatusCommitted && (a.Decision == deed.Execute || a.Decision == deed.Replay) {
		result = appendText(result, text)
	}
	return result
}

// sampleKey makes a key that would fit the present call, of its own arguments: an example that is copied as it stands must be a good one.
func sampleKey(tool string, params json.RawMessage) string {
	fit := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.-", r)) {
				return r
			}
			return '-'
		}, text[:min(len(text), 60)])
	}
	subject := "ID-OF-ITS-SUBJECT"
	arguments, _ := rawjson.Get(params, "arguments")
	members, err := rawjson.Members(arguments)
	if err == nil {
		for _, m := range members {
			text := scalar(m.Value(arguments))
			name := strings.ToLower(m.Name)
			if m.Name != keyArgument && text != "" && (name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(m.Name, "Id") || name == "path" || name == "number") {
				subject = strings.TrimLeft(fit(text), "-.")
				break
			}
		}
	}
	key := fit(tool) + ":" + subject + ":1"
	if len(key) < 16 {
		key = fit(tool) + ":the-one-for:" + subject + ":1"
	}
	return key
}

func isErrorResult(result []byte) bool {
	value, ok := rawjson.Get(result, "isError")
	return ok && string(value) == "true"
}

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "{}"
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

func textBlock(text string) []byte {
	return append(append([]byte(`{"type":"text","text":`), rawjson.Quote(text)...), '}')
}

func textResult(isError bool, texts ...string) []byte {
	out := appendText([]byte(`{"content":[]}`), texts...)
	if isError {
		out, _ = rawjson.Set(out, []byte("true"), "isError")
	}
	return out
}

// appendText adds text blocks behind the content of a result and changes nothing else.
func appendText(result []byte, texts ...string) []byte {
	content, ok := rawjson.Get(result, "content")
	if !ok {
		content = json.RawMessage("[]")
	}
	for _, text := range texts {
		with, err := rawjson.Append(content, textBlock(text))
		if err != nil {
			return result
		}
		content = with
	}
	out, err := rawjson.Set(result, content, "content")
	if err != nil {
		return result
	}
	return out
}
