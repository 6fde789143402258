// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"encoding/json"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/deed-run/deed"
)

// A stored result is an envelope of one member, by which the guard knows its own
// from what a look-up or another door has recorded.
const (
	// plainResult holds plain JSON.
	plainResult = "temporal_result"
	// payloadResult holds one payload in another encoding, or with more metadata.
	payloadResult = "temporal_payload"
	// payloadsResult holds what an interceptor had encoded already, or nothing.
	payloadsResult = "temporal_payloads"
)

// encode returns an Activity's result as the ledger keeps it.
func encode(result any) ([]byte, error) {
	if result == nil {
		return enclose(payloadsResult, &commonpb.Payloads{})
	}
	if payloads, ok := result.(*commonpb.Payloads); ok {
		if list := payloads.GetPayloads(); len(list) == 1 && isPlain(list[0]) {
			return json.Marshal(map[string]json.RawMessage{plainResult: list[0].GetData()})
		}
		return enclose(payloadsResult, payloads)
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(result)
	switch {
	case err != nil:
		return nil, err
	case isPlain(payload):
		return json.Marshal(map[string]json.RawMessage{plainResult: payload.GetData()})
	}
	return enclose(payloadResult, payload)
}

func encodingOf(payload *commonpb.Payload) string {
	return string(payload.GetMetadata()[converter.MetadataEncoding])
}

// isPlain reports whether the payload is JSON and nothing else.
func isPlain(payload *commonpb.Payload) bool {
	return encodingOf(payload) == converter.MetadataEncodingJSON && len(payload.GetMetadata()) == 1 && json.Valid(payload.GetData())
}

func enclose(name string, message proto.Message) ([]byte, error) {
	whole, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]json.RawMessage{name: whole})
}

// stored returns the result of an operation that was done before.
func stored(answer deed.Answer) (any, error) {
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(answer.Result, &envelope); err != nil || len(envelope) != 1 {
		return nil, withoutResult(answer, "no result of the Activity is kept")
	}
	payload, payloads := &commonpb.Payload{}, &commonpb.Payloads{}
	var err error
	switch {
	case envelope[plainResult] != nil:
		payload.Metadata = map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}
		payload.Data = envelope[plainResult]
	case envelope[payloadResult] != nil:
		err = protojson.Unmarshal(envelope[payloadResult], payload)
	case envelope[payloadsResult] != nil:
		if err = protojson.Unmarshal(envelope[payloadsResult], payloads); err == nil {
			if len(payloads.GetPayloads()) == 0 {
				return nil, nil
			}
			return payloads, nil
		}
	default:
		return nil, withoutResult(answer, "no result of the Activity is kept")
	}
	if err != nil {
		return nil, withoutResult(answer, fmt.Sprintf("its stored result cannot be read: %v", err))
	}
	return converter.NewRawValue(payload), nil
}

// withoutResult reports an operation that was done and has no result to return.
func withoutResult(answer deed.Answer, why string) error {
	report := reportOf(answer)
	why = "it was done, and " + why
	if report.Text != "" {
		why += ": " + report.Text
	}
	report.Text = why
	return report.err(nil, false)
}
