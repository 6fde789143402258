// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"bytes"
	"encoding/json"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/deed-run/deed"
)

// The members under which a stored result keeps what plain JSON would lose: one
// value in another encoding, and what an interceptor had encoded already.
const (
	oneValue = "temporal_payload"
	encoded  = "temporal_payloads"
)

var none = []byte("null")

// encode returns an Activity's result as the ledger keeps it: the JSON itself,
// null for none, and otherwise an envelope around the payload.
func encode(result any) ([]byte, error) {
	if payloads, ok := result.(*commonpb.Payloads); ok {
		list := payloads.GetPayloads()
		switch {
		case len(list) == 0:
			return none, nil
		case len(list) > 1 || !isPlain(list[0]):
			return enclose(encoded, payloads)
		}
		return list[0].GetData(), nil
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(result)
	switch {
	case err != nil:
		return nil, err
	case encodingOf(payload) == converter.MetadataEncodingNil:
		return none, nil
	case isPlain(payload):
		return payload.GetData(), nil
	}
	return enclose(oneValue, payload)
}

func encodingOf(payload *commonpb.Payload) string {
	return string(payload.GetMetadata()[converter.MetadataEncoding])
}

// isPlain reports whether the payload is JSON that nothing can mistake for an
// envelope.
func isPlain(payload *commonpb.Payload) bool {
	name, _ := opened(payload.GetData())
	return encodingOf(payload) == converter.MetadataEncodingJSON && name == "" && json.Valid(payload.GetData())
}

func enclose(name string, message proto.Message) ([]byte, error) {
	whole, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]json.RawMessage{name: whole})
}

// opened returns the name and the content of an envelope, "" if it is none.
func opened(text []byte) (string, json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || len(members) != 1 {
		return "", nil
	}
	for _, name := range []string{oneValue, encoded} {
		if content, ok := members[name]; ok {
			return name, content
		}
	}
	return "", nil
}

// stored returns the result of an operation that was done before.
func stored(answer deed.Answer) (any, error) {
	text := bytes.TrimSpace(answer.Result)
	switch {
	case len(text) == 0:
		return nil, withoutResult(answer, "it was done, and its result is not kept")
	case bytes.Equal(text, none):
		return nil, nil
	}
	payload, payloads := &commonpb.Payload{}, &commonpb.Payloads{}
	switch name, content := opened(text); name {
	case oneValue:
		if err := protojson.Unmarshal(content, payload); err != nil {
			return nil, withoutResult(answer, fmt.Sprintf("it was done, and its stored result cannot be read: %v", err))
		}
	case encoded:
		if err := protojson.Unmarshal(content, payloads); err != nil {
			return nil, withoutResult(answer, fmt.Sprintf("it was done, and its stored result cannot be read: %v", err))
		}
		return payloads, nil
	default:
		payload.Metadata = map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}
		payload.Data = answer.Result
	}
	return converter.NewRawValue(payload), nil
}

func withoutResult(answer deed.Answer, why string) error {
	report := reportOf(answer)
	if report.Text != "" {
		why += ": " + report.Text
	}
	report.Text = why
	return report.err(nil, false)
}
