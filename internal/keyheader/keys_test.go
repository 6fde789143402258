// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package keyheader_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/keyheader"
)

const (
	key   = "refund:order-1042:first"
	other = "refund:order-1042:other"
)

func TestKeysAreReadAsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		keys  []string
	}{
		"no header":                          {nil, nil},
		"bare":                               {[]string{key}, []string{key}},
		"quoted":                             {[]string{`"` + key + `"`}, []string{key}},
		"quoted with a parameter":            {[]string{`"` + key + `";a=1`}, []string{key}},
		"a space before the parameter":       {[]string{`"` + key + `"; v=1`}, []string{key}},
		"a parameter that is a string":       {[]string{`"` + key + `";a="x,\"y"`}, []string{key}},
		"white space around":                 {[]string{"  " + key + "\t"}, []string{key}},
		"white space around a string":        {[]string{"\t\"" + key + "\"  "}, []string{key}},
		"a comma within a string":            {[]string{`"a,b"`}, []string{"a,b"}},
		"an escaped quote and backslash":     {[]string{`"a\"b\\"`}, []string{`a"b\`}},
		"a bare key with a semicolon":        {[]string{"a;b=1"}, []string{"a;b=1"}},
		"a bare key with a backslash":        {[]string{`a\b`}, []string{`a\b`}},
		"a bare key with spaces":             {[]string{"refund order 1042"}, []string{"refund order 1042"}},
		"a bare key beyond ASCII":            {[]string{"caf\u00e9"}, []string{"caf\u00e9"}},
		"a bare number":                      {[]string{"1042"}, []string{"1042"}},
		"a string with a space":              {[]string{`"a b"`}, []string{"a b"}},
		"more than 255 characters":           {[]string{strings.Repeat("k", 256)}, []string{strings.Repeat("k", 256)}},
		"twice the same, quoted and bare":    {[]string{key, `"` + key + `"`}, []string{key, key}},
		"the same list on one line":          {[]string{key + `, "` + key + `"`}, []string{key, key}},
		"two different ones":                 {[]string{key, other}, []string{key, other}},
		"the same two on one line":           {[]string{`"` + key + `" , ` + other}, []string{key, other}},
		"parameters on both of a list":       {[]string{`"` + key + `";a=1,"` + other + `";b`}, []string{key, other}},
		"empty":                              {[]string{""}, []string{""}},
		"an empty string":                    {[]string{`""`}, []string{""}},
		"a key and nothing behind the comma": {[]string{key + ","}, []string{key, ""}},
		"a key and an empty line":            {[]string{key, ""}, []string{key, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			keys, wrong := keyheader.Keys(http.Header{keyheader.Name: c.lines})
			if wrong != "" {
				t.Fatal(wrong)
			}
			if diff := cmp.Diff(c.keys, keys); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNeitherAStringNorBareIsNotRead(t *testing.T) {
	for name, lines := range map[string][]string{
		"without a closing quote":             {`"` + key},
		"ending in a backslash":               {`"` + key + `\`},
		"ending in an escaped quote":          {`"` + key + `\"`},
		"only a quote":                        {`"`},
		"text behind the quote":               {`"` + key + `"x`},
		"a string behind a string":            {`"` + key + `""` + key + `"`},
		"an escape that is none":              {`"refund\order-1042:first"`},
		"beyond ASCII in a string":            {`"` + key + "\xc3\xa9" + `"`},
		"a control character in a string":     {"\"a\x01b\""},
		"a tab in a string":                   {"\"a\tb\""},
		"a space before the semicolon":        {`"` + key + `" ;a=1`},
		"a parameter without a name":          {`"` + key + `";=1`},
		"a parameter in upper case":           {`"` + key + `";A=1`},
		"a quote within a bare key":           {`a"b"`},
		"a list in brackets":                  {`("` + key + `")`},
		"a token with a string for parameter": {`tok;a="` + key + `"`},
		"a good one before a bad one":         {key, `"` + other},
		"a bad one before a good one":         {`"` + other + `"x, ` + key},
	} {
		t.Run(name, func(t *testing.T) {
			if keys, wrong := keyheader.Keys(http.Header{keyheader.Name: lines}); wrong == "" || keys != nil {
				t.Errorf("it is read as %q, %q", keys, wrong)
			}
		})
	}
}
