// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// readings are the same variables read in two ways: exact has every digit of whole
// numbers, doubles what a double makes of those that an int of 64 bits has no room for.
// Other numbers are doubles in both, for many servers print doubles with 17 digits.
type readings struct{ exact, doubles map[string]any }

// read adds a document under a name.
func (r *readings) read(name string, document []byte) error {
	if r.exact == nil {
		r.exact, r.doubles = map[string]any{}, map[string]any{}
	}
	var err error
	if r.exact[name], err = celDecoded(document, wholeExactly); err == nil {
		r.doubles[name], err = celArguments(document)
	}
	return err
}

// tell adds a text under a name.
func (r *readings) tell(name, text string) { r.exact[name], r.doubles[name] = text, text }

// decide is eval for what evidence hangs on. A server may keep every digit of a
// number or round it, so that only what is found either way is known.
func (e *expression) decide(v readings) (ref.Val, error) {
	value, err := run(e.program, v.exact)
	if err != nil {
		return nil, err
	}
	rounded, err := run(e.rounding, v.doubles)
	if err != nil {
		return nil, err
	}
	if !alike(value, rounded) {
		return nil, errors.New("it depends on a whole number beyond 9223372036854775807, which some servers round and others do not: compare a text, or another field")
	}
	return value, nil
}

// alike reports whether two values are the same but for numbers that were rounded.
func alike(exact, rounded ref.Val) bool {
	one, err := jsonOf(exact)
	if err != nil {
		return types.Equal(exact, rounded) == types.True
	}
	other, err := jsonOf(rounded)
	if err != nil {
		return false
	}
	if string(one) == string(other) {
		return true
	}
	a, errA := celArguments(one)
	b, errB := celArguments(other)
	adapter := types.DefaultTypeAdapter
	return errA == nil && errB == nil && types.Equal(adapter.NativeToValue(a), adapter.NativeToValue(b)) == types.True
}

// jsonOf is a value of CEL as JSON, whole numbers exact.
func jsonOf(value ref.Val) (json.RawMessage, error) {
	switch v := value.(type) {
	case types.Null:
		return json.RawMessage("null"), nil
	case longNumber:
		return json.RawMessage(v), nil
	case types.Bool, types.String, types.Int, types.Uint, types.Double, types.Bytes:
		return json.Marshal(v.Value())
	case types.Timestamp, types.Duration:
		return json.Marshal(value.ConvertToType(types.StringType).Value())
	case traits.Mapper:
		members := map[string]json.RawMessage{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			name, ok := key.(types.String)
			if !ok {
				return nil, fmt.Errorf("a map with a %s for a key is no value of JSON", key.Type().TypeName())
			}
			member, err := jsonOf(v.Get(key))
			if err != nil {
				return nil, err
			}
			members[string(name)] = member
		}
		return json.Marshal(members)
	case traits.Lister:
		elements := []json.RawMessage{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			element, err := jsonOf(it.Next())
			if err != nil {
				return nil, err
			}
			elements = append(elements, element)
		}
		return json.Marshal(elements)
	}
	return nil, fmt.Errorf("%s is no value of JSON", value.Type().TypeName())
}

// textOf is a value that must be a text or a number, "" for null.
func textOf(value ref.Val) (string, error) {
	if value.Type() == types.NullType {
		return "", nil
	}
	raw, err := jsonOf(value)
	if err != nil {
		return "", err
	}
	text, ok := plainText(raw)
	if !ok {
		return "", fmt.Errorf("it is a %s where a text or number must stand", value.Type().TypeName())
	}
	return text, nil
}
