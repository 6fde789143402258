// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// encodeArrays makes a connection encode arrays of texts and of bytes, which are
// nearly all that a batch sends, into a buffer of their size. The library's own
// codecs grow it from element to element.
func encodeArrays(types *pgtype.Map) {
	for _, name := range []string{"_text", "_bytea"} {
		known, ok := types.TypeForName(name)
		if !ok {
			continue
		}
		if codec, ok := known.Codec.(*pgtype.ArrayCodec); ok {
			types.RegisterType(&pgtype.Type{Name: known.Name, OID: known.OID, Codec: arrayCodec{codec}})
		}
	}
}

type arrayCodec struct{ *pgtype.ArrayCodec }

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []string, [][]byte:
			return arrayPlan{c.ElementType.OID}
		}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// arrayPlan writes a binary array of one dimension, as array_recv of
// PostgreSQL's src/backend/utils/adt/arrayfuncs.c reads it.
type arrayPlan struct{ element uint32 }

// Encode implements pgtype.EncodePlan.
func (p arrayPlan) Encode(value any, buf []byte) ([]byte, error) {
	switch list := value.(type) {
	case []string:
		if list == nil {
			return nil, nil
		}
		size := 0
		for _, text := range list {
			size += 4 + len(text)
		}
		buf = p.header(buf, len(list), size)
		for _, text := range list {
			buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(text))), text...)
		}
	case [][]byte:
		if list == nil {
			return nil, nil
		}
		size := 0
		for _, bytes := range list {
			size += 4 + len(bytes)
		}
		buf = p.header(buf, len(list), size)
		for _, bytes := range list {
			length := uint32(len(bytes))
			if bytes == nil {
				length = null
			}
			buf = append(binary.BigEndian.AppendUint32(buf, length), bytes...)
		}
	}
	return buf, nil
}

// null is the length of an element that is NULL.
const null = math.MaxUint32

// header begins an array and makes room for its elements.
func (p arrayPlan) header(buf []byte, length, size int) []byte {
	// One dimension, which may have NULLs, of a type, of that length, from 1 on.
	words := [...]uint32{1, 1, p.element, uint32(length), 1}
	buf = slices.Grow(buf, 4*len(words)+size)
	for _, word := range words {
		buf = binary.BigEndian.AppendUint32(buf, word)
	}
	return buf
}
