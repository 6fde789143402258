// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed/sqlite"
)

func FuzzAnIDThatIsPackedComesBackAsItWas(f *testing.F) {
	for _, id := range []string{"op_01ARZ3NDEKTSV4RRFFQ69G5FAV", "op_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "op_8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "op_01arz3ndektsv4rrffq69g5fav", "", "op_"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		packed, ok := sqlite.PackID("op_", id)
		if ok && sqlite.UnpackID("op_", packed[:]) != id {
			t.Errorf("%q became %q", id, sqlite.UnpackID("op_", packed[:]))
		}
	})
}

func FuzzADigestThatIsPackedComesBackAsItWas(f *testing.F) {
	for _, digest := range []string{"sha256:" + strings.Repeat("0f", 32), "sha256:" + strings.Repeat("0F", 32), "sha256:", ""} {
		f.Add(digest)
	}
	f.Fuzz(func(t *testing.T, digest string) {
		packed, ok := sqlite.PackDigest(digest)
		if ok && sqlite.UnpackDigest(packed[:]) != digest {
			t.Errorf("%q became %q", digest, sqlite.UnpackDigest(packed[:]))
		}
	})
}

func TestUsualIDsAndDigestsArePacked(t *testing.T) {
	if _, ok := sqlite.PackID("op_", "op_01ARZ3NDEKTSV4RRFFQ69G5FAV"); !ok {
		t.Error("a usual id is not packed")
	}
	if _, ok := sqlite.PackDigest("sha256:" + strings.Repeat("0f", 32)); !ok {
		t.Error("a usual digest is not packed")
	}
}
