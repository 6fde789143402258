// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"pgregory.net/rapid"
)

// A parameter that keeps its value from the run before is not bound anew; what
// the statement sees must be what was asked for last, in whatever order values,
// their forms and errors follow each other.
func TestAStatementSeesTheValuesOfItsRun(t *testing.T) {
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const digest = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	texts := rapid.SampledFrom([]string{"", "a", "b", digest, "op_00000000000000000000000000", "7"})
	rapid.Check(t, func(t *rapid.T) {
		prepared, _, err := db.Prepare("SELECT quote(?), quote(?)")
		if err != nil {
			t.Fatal(err)
		}
		defer prepared.Close()
		s := &statement{Stmt: prepared, bound: make([]bound, prepared.BindCount())}
		for range rapid.IntRange(1, 12).Draw(t, "runs") {
			s.param, s.column, s.err = 0, 0, nil
			var want []string
			for range 2 {
				text, number := texts.Draw(t, "text"), rapid.Int64Range(0, 2).Draw(t, "number")
				switch rapid.SampledFrom([]string{"text", "blob", "optional", "null", "integer", "moment", "id", "digest"}).Draw(t, "form") {
				case "text":
					s.text(text)
					want = append(want, "'"+text+"'")
				case "blob":
					s.blob([]byte(text))
					want = append(want, fmt.Sprintf("X'%X'", text))
				case "optional":
					s.optional([]byte(text))
					want = append(want, "'"+text+"'")
				case "null":
					s.optional(nil)
					want = append(want, "NULL")
				case "integer":
					s.integer(number)
					want = append(want, fmt.Sprint(number))
				case "moment":
					at := time.UnixMicro(number).UTC()
					if number == 0 {
						at = time.Time{}
					}
					s.moment(at)
					want = append(want, map[bool]string{true: "NULL", false: fmt.Sprint(number)}[number == 0])
				case "id":
					s.operationID(text)
					if packed, ok := packID(operationPrefix, text); ok {
						want = append(want, fmt.Sprintf("X'%X'", packed[:]))
					} else {
						want = append(want, "'"+text+"'")
					}
				case "digest":
					s.digest(text)
					if packed, ok := packDigest(text); ok {
						want = append(want, fmt.Sprintf("X'%X'", packed[:]))
					} else {
						want = append(want, "'"+text+"'")
					}
				}
			}
			if rapid.Bool().Draw(t, "one parameter too many") {
				// Its error ends the run before anything is seen.
				s.text("nobody's")
				if s.next() || s.end() == nil {
					t.Fatal("a parameter that is not there was bound")
				}
				continue
			}
			if !s.next() {
				t.Fatalf("no row: %v", s.err)
			}
			if got := []string{s.readText(), s.readText()}; got[0] != want[0] || got[1] != want[1] {
				t.Fatalf("the statement saw %q, want %q", got, want)
			}
			if err := s.end(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
