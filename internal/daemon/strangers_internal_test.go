// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/storetest"
)

func TestRefusedTokensAreTold(t *testing.T) {
	clock := storetest.NewClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	var said []string
	s := &strangers{clock: clock, log: func(text string) { said = append(said, text) }}
	auth := s.over(func(r *http.Request) (deed.Principal, bool) {
		return deed.Principal{Actor: "ada"}, r.Header.Get("Authorization") == "Bearer hers"
	})
	ask := func(token string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp/shop", nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if _, known := auth(r); known != (token == "hers") {
			t.Errorf("with the token %q: %v", token, known)
		}
	}
	ask("hers")
	ask("")
	for range 40 {
		ask("stolen")
	}
	clock.Advance(strangersEvery)
	ask("stolen")
	want := []string{
		"a token that is not known, or is no longer valid, was refused: POST /mcp/shop from 192.0.2.1:1234",
		"a token that is not known, or is no longer valid, was refused: POST /mcp/shop from 192.0.2.1:1234; 39 more since 2026-03-02T12:00:00Z",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}
