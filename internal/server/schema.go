// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// schemas makes JSON schemas (draft 2020-12) of Go types, and keeps those of
// structs by name.
type schemas struct {
	components object
}

// of returns the schema of a type. strict refuses members that are not there:
// requests are read so, while answers may learn more words.
func (s *schemas) of(t reflect.Type, strict bool) object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"description": "any JSON"}
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	}
	if words := wordsOfType(t); words != nil {
		return object{"type": "string", "enum": words}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem(), strict)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), strict)}
	case reflect.Struct:
		return s.named(t, strict)
	}
	return object{"type": "integer"}
}

// named puts a struct's schema among the components and refers to it.
func (s *schemas) named(t reflect.Type, strict bool) object {
	ref := object{"$ref": "#/components/schemas/" + t.Name()}
	if _, known := s.components[t.Name()]; known {
		return ref
	}
	schema := object{"type": "object"}
	s.components[t.Name()] = schema
	properties := object{}
	var required []string
	for name, field := range fieldsOf(t) {
		properties[name] = s.member(name, field.Type, strict)
		_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	schema["properties"] = properties
	if slices.Sort(required); required != nil {
		schema["required"] = required
	}
	if strict {
		schema["additionalProperties"] = false
	}
	return ref
}

// member is the schema of one field; raw JSON is narrower than any by its
// name.
func (s *schemas) member(name string, t reflect.Type, strict bool) object {
	if t == reflect.TypeFor[json.RawMessage]() {
		switch name {
		case "arguments", "data":
			return object{"type": "object"}
		case "matter":
			return object{"type": "array"}
		}
	}
	return s.of(t, strict)
}

// wordsOfType lists the words of a closed list, nil for other types.
func wordsOfType(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[deed.Decision]():
		var words []string
		for _, row := range deed.ReasonTable() {
			words = append(words, string(row.Decision))
		}
		return slices.Compact(words)
	case reflect.TypeFor[deed.Reason]():
		words := []string{string(deed.ReasonSuperseded)}
		for _, row := range deed.ReasonTable() {
			words = append(words, texts(row.Reasons)...)
		}
		slices.Sort(words)
		return slices.Compact(words)
	case reflect.TypeFor[deed.Status]():
		return texts(deed.Statuses())
	case reflect.TypeFor[deed.Family]():
		return texts([]deed.Family{deed.FamilyOperation, deed.FamilyCreation, deed.FamilySecret})
	case reflect.TypeFor[deed.Provenance]():
		return texts([]deed.Provenance{deed.ProvenanceRuntime, deed.ProvenanceDerived, deed.ProvenanceCallID, deed.ProvenanceModel, deed.ProvenanceNone})
	case reflect.TypeFor[deed.EffectClass]():
		return texts([]deed.EffectClass{deed.EffectReadOnly, deed.EffectIdempotent, deed.EffectNonIdempotent})
	case reflect.TypeFor[deed.OutcomeKind]():
		return texts([]deed.OutcomeKind{deed.OutcomeSuccess, deed.OutcomeRefused, deed.OutcomeUnsent, deed.OutcomeUnknown, deed.OutcomeInputRequired, deed.OutcomeTask})
	case reflect.TypeFor[deed.ResolutionOutcome]():
		return texts([]deed.ResolutionOutcome{deed.ResolveCommitted, deed.ResolveNotApplied, deed.ResolveAbandon})
	case reflect.TypeFor[api.SettleOutcome]():
		return texts(api.SettleOutcomes())
	}
	return nil
}

func texts[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}
