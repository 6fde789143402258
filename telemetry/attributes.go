// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"github.com/deed-run/deed"
	"go.opentelemetry.io/otel/attribute"
)

// startAttributes are known when a call arrives.
func (o *Observer) startAttributes(call deed.Call) []attribute.KeyValue {
	list := []attribute.KeyValue{
		keyOperationName.String(operationExecuteTool),
		keyToolName.String(short(call.Tool.Name(), maxText)),
		keyAgentTool.String(short(string(call.Tool), maxText)),
	}
	if o.opts.Surface == SurfaceGateway {
		list = append(list, keyMethod.String(methodToolsCall))
		if o.opts.Transport != "" {
			list = append(list, keyTransport.String(o.opts.Transport))
		}
	}
	if o.opts.Policy != nil {
		list = append(list, effectAttributes(o.opts.Policy.Rule(call.Tool, call.Facts))...)
	}
	if carrier, ok := naming(call); ok {
		list = append(list, keyProvenance.String(string(carrier.Provenance)))
		list = o.appendKey(list, textOf(carrier.Identity), false)
	}
	return list
}

// answerAttributes are known with the answer.
func (o *Observer) answerAttributes(f *flight, answer deed.Answer) []attribute.KeyValue {
	var list []attribute.KeyValue
	if answer.Rule.Effect != "" {
		list = effectAttributes(answer.Rule)
	}
	for _, word := range []struct {
		key  attribute.Key
		text string
	}{
		{keyDecision, string(answer.Decision)},
		{keyReason, string(answer.Reason)},
		{keyStatus, string(answer.Effective)},
		{keyWouldBe, string(answer.WouldBe)},
		{keyFingerprint, o.veil.write(string(answer.Received), false)},
	} {
		if word.text != "" {
			list = append(list, word.key.String(word.text))
		}
	}
	op := answer.Operation
	if op == nil {
		return list
	}
	list = append(list, keyOperationID.String(string(op.ID)))
	if number := attemptOf(f, answer); number > 0 {
		list = append(list, keyAttempt.Int(number))
	}
	if answer.Twin == "" && unnamed(f.call, op) {
		list = append(list, keyProvenance.String(string(op.Key.Provenance)))
		list = o.appendKey(list, op.Key.Text, op.Key.Family == deed.FamilySecret)
	}
	if id := o.remoteID(op); id != "" {
		list = append(list, keyRemoteID.String(id))
	}
	return list
}

// durationLabels are those of the two duration metrics.
func (o *Observer) durationLabels(call deed.Call, failure string) []attribute.KeyValue {
	list := []attribute.KeyValue{
		keyOperationName.String(operationExecuteTool),
		keyToolName.String(o.tools.name(call.Tool)),
	}
	if o.opts.Surface == SurfaceGateway {
		list = append(list, keyMethod.String(methodToolsCall))
		if o.opts.Transport != "" {
			list = append(list, keyTransport.String(o.opts.Transport))
		}
	}
	if failure != "" {
		list = append(list, keyErrorType.String(failure))
	}
	return list
}

func effectAttributes(rule deed.Rule) []attribute.KeyValue {
	effect := rule.Effect
	if effect == "" {
		effect = deed.EffectNonIdempotent
	}
	return []attribute.KeyValue{keySideEffect.Bool(rule.Mutates()), keyEffect.String(string(effect))}
}

func (o *Observer) appendKey(list []attribute.KeyValue, text string, confidential bool) []attribute.KeyValue {
	if shown := o.veil.write(text, confidential); shown != "" {
		list = append(list, keyKey.String(shown))
	}
	return list
}

// attemptOf is the attempt that the answer is about: the one granted, the one
// behind the receipt, or the latest.
func attemptOf(f *flight, answer deed.Answer) int {
	if number := int(f.attempt.Load()); number > 0 && answer.Decision == deed.Execute {
		return number
	}
	if receipt := answer.Operation.Receipt(); receipt != nil && receipt.Attempt > 0 {
		return receipt.Attempt
	}
	return answer.Operation.AttemptNumber()
}

func (o *Observer) remoteID(op *deed.Operation) string {
	receipt := op.Receipt()
	if receipt == nil || op.Key.Family == deed.FamilySecret {
		return ""
	}
	if o.opts.HideRemoteID != nil && o.opts.HideRemoteID(op.Tool) {
		return ""
	}
	return short(receipt.RemoteID, maxText)
}

// naming returns the carrier that names the call, by the precedence of the
// Runtime: runtime, call id, model.
func naming(call deed.Call) (deed.Carrier, bool) {
	if call.Key != nil {
		return deed.Carrier{Provenance: deed.ProvenanceRuntime, Identity: call.Key}, true
	}
	for _, provenance := range []deed.Provenance{deed.ProvenanceRuntime, deed.ProvenanceCallID, deed.ProvenanceModel} {
		for _, carrier := range call.Carriers {
			if carrier.Provenance == provenance {
				return carrier, true
			}
		}
	}
	return deed.Carrier{}, false
}

// unnamed reports whether the operation's own key is the better name of the
// call: it brought none, a configured rule derived one instead, or the one it
// brought is confidential.
func unnamed(call deed.Call, op *deed.Operation) bool {
	carrier, ok := naming(call)
	return !ok || op.Key.Provenance == deed.ProvenanceDerived && carrier.Provenance != deed.ProvenanceRuntime ||
		textOf(carrier.Identity) == ""
}

// textOf is the text of an identity that is no secret.
func textOf(identity deed.Identity) string {
	switch key := identity.(type) {
	case deed.OperationKey:
		return string(key)
	case deed.CreationID:
		return string(key)
	}
	return ""
}
