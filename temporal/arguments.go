// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// argumentsOf returns the JSON object that stands for an Activity's arguments in
// rules, fingerprints and the ledger: the only argument where that is an object,
// and {"args": [...]} otherwise.
func argumentsOf(args []any) ([]byte, error) {
	texts := make([]json.RawMessage, len(args))
	for i, arg := range args {
		text, err := textOf(arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d of the Activity: %w; it did not run", i+1, err)
		}
		texts[i] = text
	}
	if len(texts) == 1 && isObject(texts[0]) {
		return texts[0], nil
	}
	return json.Marshal(map[string][]json.RawMessage{"args": texts})
}

func isObject(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) }

// textOf returns the value as JSON, as Temporal's own converter writes it.
func textOf(value any) (json.RawMessage, error) {
	if _, dynamic := value.(converter.EncodedValues); dynamic {
		return nil, errors.New("a dynamic Activity has arguments that nobody has decoded: register a guarded one under its name")
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		return nil, err
	}
	switch encodingOf(payload) {
	case converter.MetadataEncodingNil:
		return json.RawMessage("null"), nil
	case converter.MetadataEncodingJSON, converter.MetadataEncodingProtoJSON:
		return payload.GetData(), nil
	}
	return json.Marshal(payload.GetData())
}

// frozen returns the arguments of the snapshot in the types of args. What these
// types would drop, add or change is an error: then something else would be sent
// than was agreed to, or the mark by which it is found.
func frozen(snapshot []byte, args []any) ([]any, error) {
	texts := []json.RawMessage{snapshot}
	if len(args) != 1 || !isWhole(args[0]) {
		var listed struct {
			Args []json.RawMessage `json:"args"`
		}
		if err := json.Unmarshal(snapshot, &listed); err != nil {
			return nil, fmt.Errorf("the frozen arguments are not those of this Activity: %w", err)
		}
		texts = listed.Args
	}
	if len(texts) != len(args) {
		return nil, fmt.Errorf("the frozen arguments are %d and the Activity takes %d: was it changed since it was first called?", len(texts), len(args))
	}
	values := make([]any, len(args))
	for i, arg := range args {
		value, err := valueOf(texts[i], arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d as it was frozen: %w", i+1, err)
		}
		values[i] = value
	}
	read, err := argumentsOf(values)
	if err != nil {
		return nil, err
	}
	different, err := differences(snapshot, read)
	if err != nil {
		return nil, err
	}
	if len(different) > 0 {
		return nil, fmt.Errorf("the Activity's types would drop, add or change %s of the frozen arguments", strings.Join(different, ", "))
	}
	return values, nil
}

// survive refuses arguments of a local Activity of which JSON holds less than
// they are: they were never encoded, and would be if other ones took their place.
func survive(args []any) error {
	for i, arg := range args {
		text, err := textOf(arg)
		if err != nil {
			return err
		}
		if back, err := valueOf(text, arg); err != nil || !reflect.DeepEqual(back, arg) {
			return fmt.Errorf("argument %d of the local Activity holds what JSON does not, which an edit or a mark would take from it", i+1)
		}
	}
	return nil
}

// isWhole reports whether the argument, as the only one, stands for itself.
func isWhole(arg any) bool {
	text, err := textOf(arg)
	return err == nil && isObject(text)
}

// valueOf reads the text into the type of like.
func valueOf(text []byte, like any) (any, error) {
	if like == nil {
		// Temporal hands a nil pointer over without its type.
		if string(text) == "null" {
			return nil, nil
		}
		return nil, errors.New("the Activity was called without it, so its type is not known")
	}
	model, err := converter.GetDefaultDataConverter().ToPayload(like)
	if err != nil {
		return nil, err
	}
	payload := &commonpb.Payload{Metadata: model.GetMetadata(), Data: text}
	switch encodingOf(model) {
	case converter.MetadataEncodingNil:
		payload.Metadata = map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}
	case converter.MetadataEncodingJSON, converter.MetadataEncodingProtoJSON:
	default:
		if err := json.Unmarshal(text, &payload.Data); err != nil {
			return nil, err
		}
	}
	if _, raw := like.(converter.RawValue); raw {
		return converter.NewRawValue(payload), nil
	}
	value := reflect.New(reflect.TypeOf(like))
	if err := converter.GetDefaultDataConverter().FromPayload(payload, value.Interface()); err != nil {
		return nil, err
	}
	return value.Elem().Interface(), nil
}
