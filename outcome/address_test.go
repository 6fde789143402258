// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/deed-run/deed/outcome"
)

func TestAnAddressIsToldAsItWasWritten(t *testing.T) {
	for name, c := range map[string]struct {
		used, written, text, want string
	}{
		"the whole address": {
			"https://hooks.example/services/T0K3N", "https://hooks.example/services/${HOOK}",
			`Post "https://hooks.example/services/T0K3N": EOF`, `Post "https://hooks.example/services/${HOOK}": EOF`,
		},
		"an address below it": {
			"https://hooks.example/T0K3N", "https://hooks.example/${HOOK}",
			"GET https://hooks.example/T0K3N/status?x=1: EOF", "GET https://hooks.example/${HOOK}/status?x=1: EOF",
		},
		"its path alone": {
			"https://hooks.example/services/T0K3N", "https://hooks.example/services/${HOOK}",
			"GET /services/T0K3N: EOF", "GET /services/${HOOK}: EOF",
		},
		"its path with the signs that a URL must escape": {
			"https://hooks.example/a b", "https://hooks.example/${HOOK}",
			`Post "https://hooks.example/a%20b": EOF`, `Post "https://hooks.example/${HOOK}": EOF`,
		},
		"its query alone": {
			"https://mcp.example/mcp?key=T0K3N", "https://mcp.example/mcp?key=${KEY}", "asked with key=T0K3N", "asked with key=${KEY}",
		},
		"its host, which is looked up": {
			"https://t0k3n.example:8443/v1", "https://${TENANT}.example:8443/v1",
			"dial tcp: lookup t0k3n.example: no such host", "dial tcp: lookup ${TENANT}.example: no such host",
		},
		"all of it came from a variable": {
			"https://t0k3n.example/a/T0K3N", "${HOOK}", "lookup t0k3n.example: asked for /a/T0K3N", "lookup ${HOOK}: asked for ${HOOK}",
		},
		"nothing of it is a secret": {
			"https://api.example/v1", "https://api.example/v1", "GET https://api.example/v1: EOF", "GET https://api.example/v1: EOF",
		},
		"a path of nothing hides no slash": {"https://t0k3n.example/", "https://${HOST}/", "a/b", "a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			at := outcome.Address{URL: c.used, Written: c.written}
			if at.String() != c.written {
				t.Errorf("it is told as %s", at)
			}
			if got := at.Hide(errors.New(c.text)).Error(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAHiddenErrorIsWhatItWas(t *testing.T) {
	at := outcome.Address{URL: "http://127.0.0.1:1/T0K3N", Written: "http://127.0.0.1:1/${HOOK}"}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = http.DefaultClient.Do(req)
	hidden := at.Hide(fmt.Errorf("asking: %w", err))
	if hidden == nil || strings.Contains(hidden.Error(), "T0K3N") || !strings.Contains(hidden.Error(), "${HOOK}") {
		t.Errorf("%v", hidden)
	}
	if _, is := errors.AsType[*net.OpError](hidden); !is {
		t.Errorf("%v is no error of a connection any more", hidden)
	}
	if outcome.FailureName(hidden) != outcome.FailureName(err) {
		t.Errorf("it is called %s, and was %s", outcome.FailureName(hidden), outcome.FailureName(err))
	}
	if at.Hide(nil) != nil || !errors.Is(at.Hide(context.Canceled), context.Canceled) {
		t.Error("an error that tells no address is another one")
	}
}

func TestAnAddressThatWasNotWrittenTellsNoPassword(t *testing.T) {
	for used, want := range map[string]string{
		"https://api.example/v1":            "https://api.example/v1",
		"https://ann:T0K3N@api.example/v1":  "https://ann:xxxxx@api.example/v1",
		"https://ann:T0K3N@api.example/%zz": "an address that is no URL",
	} {
		if got := (outcome.Address{URL: used}).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
