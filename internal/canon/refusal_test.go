// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/canon"
)

func TestEveryRefusalHasItsCodeAndPlace(t *testing.T) {
	deep := strings.Repeat("[", canon.MaxDepth) + strings.Repeat("]", canon.MaxDepth)
	include := canon.Rules{Include: []string{"/amount", "/customer/id", "/items/*/sku"}, Exclude: []string{"/meta/trace"}}
	ignoring := canon.Rules{Include: []string{"/amount", "/customer/id"}, Unlisted: "ignore"}
	decimal := canon.Rules{Normalize: map[string][]string{"/amount": {"decimal"}}}
	cases := []struct {
		name, args    string
		rules         canon.Rules
		code, pointer string
	}{
		{"an empty document", ``, canon.Rules{}, canon.CodeSyntax, ""},
		{"white space only", " \n", canon.Rules{}, canon.CodeSyntax, ""},
		{"an unclosed object", `{"a":1`, canon.Rules{}, canon.CodeSyntax, ""},
		{"an unclosed array", `{"a":[1`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"an unclosed string", `{"a":"b`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"an unclosed string after an escape", `{"a":"\n`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"an unfinished escape", `{"a":"\`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"an unknown escape", `{"a":"\x"}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a short unicode escape", `{"a":"\u12"}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a unicode escape without hexadecimal digits", `{"a":"\u12g4"}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a raw control character", "{\"a\":\"\n\"}", canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a raw control character after an escape", "{\"a\":\"\\n\t\"}", canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a name without quotes", `{a:1}`, canon.Rules{}, canon.CodeSyntax, ""},
		{"a missing colon", `{"a" 1}`, canon.Rules{}, canon.CodeSyntax, ""},
		{"a missing comma", `{"a":[1 2]}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a missing comma between members", `{"a":1 "b":2}`, canon.Rules{}, canon.CodeSyntax, ""},
		{"a comma before the closing bracket", `{"a":[1,]}`, canon.Rules{}, canon.CodeSyntax, "/a/1"},
		{"a misspelled literal", `{"a":nul}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a number with plus sign", `{"a":+1}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a number with leading zero", `{"a":-01}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a number without fraction digits", `{"a":1.}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a number without exponent digits", `{"a":1e}`, canon.Rules{}, canon.CodeSyntax, "/a"},
		{"a hexadecimal number", `{"a":0x10}`, canon.Rules{}, canon.CodeSyntax, ""},
		{"two values", `{} {}`, canon.Rules{}, canon.CodeTrailingData, ""},
		{"a NUL after the value", "{}\x00", canon.Rules{}, canon.CodeTrailingData, ""},
		{"a byte order mark", "\xEF\xBB\xBF{}", canon.Rules{}, canon.CodeBOM, ""},
		{"bytes that are not UTF-8", "{\"a\":\"\xff\"}", canon.Rules{}, canon.CodeInvalidUTF8, "/a"},
		{"bytes that are not UTF-8 before an escape", "{\"a\":\"\xff\\n\"}", canon.Rules{}, canon.CodeInvalidUTF8, "/a"},
		{"a surrogate encoded as UTF-8", "{\"a\":\"\xed\xa0\x80\"}", canon.Rules{}, canon.CodeInvalidUTF8, "/a"},
		{"a name that is not UTF-8", "{\"\xff\":1}", canon.Rules{}, canon.CodeInvalidUTF8, ""},
		{"a lone high surrogate", `{"a":"\ud800x"}`, canon.Rules{}, canon.CodeLoneSurrogate, "/a"},
		{"two high surrogates", `{"a":"\ud800\ud800"}`, canon.Rules{}, canon.CodeLoneSurrogate, "/a"},
		{"a lone low surrogate", `{"a":"\udc00"}`, canon.Rules{}, canon.CodeLoneSurrogate, "/a"},
		{"a name given twice", `{"x":[{"q~/":1,"q~\u002f":1}]}`, canon.Rules{}, canon.CodeDuplicateMember, "/x/0/q~0~1"},
		{"a name given twice among many", `{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"c":1}`, canon.Rules{}, canon.CodeDuplicateMember, "/c"},
		{"an array instead of arguments", `[1]`, canon.Rules{}, canon.CodeNotObject, ""},
		{"null instead of arguments", `null`, canon.Rules{}, canon.CodeNotObject, ""},
		{"arrays nested too deep", `{"a":` + deep + `}`, canon.Rules{}, canon.CodeTooDeep, "/a" + strings.Repeat("/0", canon.MaxDepth-1)},
		{"objects nested too deep", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), canon.Rules{}, canon.CodeTooDeep, strings.Repeat("/a", canon.MaxDepth)},
		{"one byte over the default limit", `{"a":"` + strings.Repeat("x", 1<<20-8) + `"} `, canon.Rules{}, canon.CodeTooLarge, ""},
		{"one byte over the limit of the tool", `{"a":1}`, canon.Rules{MaxBytes: 6}, canon.CodeTooLarge, ""},
		{"a number literal of 257 characters", `{"a":1` + strings.Repeat("0", 256) + `}`, canon.Rules{}, canon.CodeNumberTooLong, "/a"},
		{"a number that rounds to infinity", `{"a":1.7976931348623159e308}`, canon.Rules{}, canon.CodeNumberOutOfRange, "/a"},
		{"a number ten times over the greatest float64", `{"a":1e309}`, canon.Rules{}, canon.CodeNumberOutOfRange, "/a"},
		{"a huge exponent", `{"a":1e99999999999999999999}`, canon.Rules{}, canon.CodeNumberOutOfRange, "/a"},
		{"an exponent just over the parser's bound", `{"a":1e3000000000}`, canon.Rules{}, canon.CodeNumberOutOfRange, "/a"},
		{"an exponent below the smallest accepted", `{"a":1e-1000000000}`, canon.Rules{}, canon.CodeNumberOutOfRange, "/a"},
		{"an integer that float64 cannot hold, under interop", `{"a":[9007199254740993]}`, canon.Rules{Numbers: "interop"}, canon.CodeNumberNotFloat64, "/a/0"},
		{"an underflow under interop", `{"a":1e-400}`, canon.Rules{Numbers: "interop"}, canon.CodeNumberNotFloat64, "/a"},
		{"the same inside an unordered array", `{"a":[9007199254740993]}`, canon.Rules{Numbers: "interop", Unordered: map[string]string{"/a": "set"}}, canon.CodeNumberNotFloat64, "/a/0"},
		{"an unlisted argument", `{"amount":1,"bcc":"x"}`, include, canon.CodeUnlisted, "/bcc"},
		{"an unlisted member of a partly listed object", `{"customer":{"id":1,"vip":true}}`, include, canon.CodeUnlisted, "/customer/vip"},
		{"an unlisted member of an element", `{"items":[{"sku":1},{"sku":1,"qty":2}]}`, include, canon.CodeUnlisted, "/items/1/qty"},
		{"an unlisted member beside an excluded one", `{"meta":{"trace":1,"real":2}}`, include, canon.CodeUnlisted, "/meta/real"},
		{"a scalar where only members are excluded", `{"meta":1}`, include, canon.CodeUnlisted, "/meta"},
		{"names that differ by case", `{"amount":1,"Amount":2}`, include, canon.CodeCaseConflict, "/amount"},
		{"names that differ by case, deep", `{"amount":[{"a":1,"A":2}]}`, ignoring, canon.CodeCaseConflict, "/amount/0/a"},
		{"names that differ by case among many", `{"amount":1,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"\u212a":0,"k":0}`, ignoring, canon.CodeCaseConflict, "/\u212a"},
		{"an ignored name that a loose receiver takes for a listed one", `{"AMOUNT":1}`, ignoring, canon.CodeCaseConflict, "/AMOUNT"},
		{"the same below the root", `{"customer":{"ID":1}}`, ignoring, canon.CodeCaseConflict, "/customer/ID"},
		{"a missing field", `{}`, canon.Rules{Require: []string{"/a/b"}}, canon.CodeRequired, "/a/b"},
		{"a missing field of one element", `{"a":[{"b":1},{}]}`, canon.Rules{Require: []string{"/a/*/b"}}, canon.CodeRequired, "/a/1/b"},
		{"a required list that is no container", `{"a":1}`, canon.Rules{Require: []string{"/a/*"}}, canon.CodeRequired, "/a/*"},
		{"a null field", `{"a":[{"b":null}]}`, canon.Rules{Require: []string{"/a/*/b"}}, canon.CodeRequired, "/a/0/b"},
		{"a field that null_is_absent removes", `{"a":null}`, canon.Rules{Require: []string{"/a"}, NullIsAbsent: []string{"/a"}}, canon.CodeRequired, "/a"},
		{"a decimal with separators", `{"amount":"1,000"}`, decimal, canon.CodeNormalize, "/amount"},
		{"a decimal out of range", `{"amount":"1e999"}`, decimal, canon.CodeNormalize, "/amount"},
		{"an empty decimal", `{"amount":""}`, decimal, canon.CodeNormalize, "/amount"},
		{"a boolean decimal", `{"amount":true}`, decimal, canon.CodeNormalize, "/amount"},
		{"a number where text is normalised", `{"a":[1]}`, canon.Rules{Normalize: map[string][]string{"/a/*": {"lower"}}}, canon.CodeNormalize, "/a/0"},
	}
	covered := map[canon.Code]bool{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fingerprint, err := compile(t, c.rules).Fingerprint("u/t", []byte(c.args))
			var refusal *canon.Error
			if !errors.As(err, &refusal) {
				t.Fatalf("fingerprint %q, error %v, want a refusal", fingerprint, err)
			}
			if refusal.Code != c.code || refusal.Pointer != c.pointer {
				t.Errorf("got %s at %q, want %s at %q", refusal.Code, refusal.Pointer, c.code, c.pointer)
			}
			covered[refusal.Code] = true
		})
	}
	for _, code := range []canon.Code{
		canon.CodeSyntax, canon.CodeTrailingData, canon.CodeBOM, canon.CodeInvalidUTF8, canon.CodeLoneSurrogate,
		canon.CodeDuplicateMember, canon.CodeCaseConflict, canon.CodeNotObject, canon.CodeTooDeep, canon.CodeTooLarge,
		canon.CodeNumberTooLong, canon.CodeNumberOutOfRange, canon.CodeNumberNotFloat64, canon.CodeRequired,
		canon.CodeUnlisted, canon.CodeNormalize,
	} {
		if !covered[code] {
			t.Errorf("no case for code %s", code)
		}
	}
}

func TestDocumentsAtTheLimitsAreAccepted(t *testing.T) {
	cases := []struct{ name, args string }{
		{"64 levels", strings.Repeat(`{"a":`, 63) + "{}" + strings.Repeat("}", 63)},
		{"1 MiB", `{"a":"` + strings.Repeat("x", 1<<20-8) + `"}`},
		{"a literal of 256 characters", `{"a":1` + strings.Repeat("0", 255) + `}`},
		{"the greatest float64", `{"a":1.7976931348623157e308}`},
		{"a number that rounds down to the greatest float64", `{"a":179769313486231580e291}`},
		{"the smallest accepted exponent", `{"a":1e-999999999}`},
		{"zero with any exponent", `{"a":0e99999999999999999999}`},
		{"noncharacters and NUL", `{"a":"\u0000\uffff"}`},
	}
	for _, c := range cases {
		if _, err := compile(t, canon.Rules{}).Fingerprint("u/t", []byte(c.args)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestErrorsNameThePlaceAndTheRemedyButNoValue(t *testing.T) {
	_, err := compile(t, canon.Rules{Normalize: map[string][]string{"/card": {"decimal"}}}).Fingerprint("u/t", []byte(`{"card":"secret"}`))
	want := `canonical form refused at "/card": normaliser decimal: the value is not a decimal number: write it like 10.50, without sign +, spaces or separators (normalize)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = canon.Compile(canon.Rules{Exclude: []string{"trace"}})
	want = `fingerprint rules refused at "trace": exclude: a pointer begins with a slash: write "/trace" (invalid_rules)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestErrorsDoNotRepeatAHostileName(t *testing.T) {
	err := canon.Strict([]byte(`{"` + strings.Repeat("x", 100_000) + `":01}`))
	if err == nil || len(fmt.Sprint(err)) > 400 {
		t.Errorf("an error of %d bytes, want a short one", len(fmt.Sprint(err)))
	}
}

func TestToolNameMustBeUTF8(t *testing.T) {
	if got := outcome(compile(t, canon.Rules{}).Fingerprint("\xff", []byte(`{}`))); got != "error: invalid_utf8 " {
		t.Error(got)
	}
}

func TestInvalidRulesAreRefused(t *testing.T) {
	raw := func(s string) map[string]json.RawMessage { return map[string]json.RawMessage{"/a": json.RawMessage(s)} }
	cases := []struct {
		name    string
		rules   canon.Rules
		pointer string
	}{
		{"a pointer without slash", canon.Rules{Include: []string{"a"}}, "a"},
		{"an empty pointer", canon.Rules{Exclude: []string{""}}, ""},
		{"a bare tilde", canon.Rules{Require: []string{"/a~b"}}, "/a~b"},
		{"a pointer that is not UTF-8", canon.Rules{Require: []string{"/\xff"}}, "/\xff"},
		{"an unknown numbers rule", canon.Rules{Numbers: "float"}, ""},
		{"an unknown unlisted rule", canon.Rules{Unlisted: "drop"}, ""},
		{"ignore without include", canon.Rules{Unlisted: "ignore"}, ""},
		{"a negative limit", canon.Rules{MaxBytes: -1}, ""},
		{"an unknown normaliser", canon.Rules{Normalize: map[string][]string{"/a": {"upcase"}}}, "/a"},
		{"no normaliser", canon.Rules{Normalize: map[string][]string{"/a": {}}}, "/a"},
		{"a normaliser on a bad pointer", canon.Rules{Normalize: map[string][]string{"a": {"trim"}}}, "a"},
		{"an unknown unordered word", canon.Rules{Unordered: map[string]string{"/a": "bag"}}, "/a"},
		{"unordered on a bad pointer", canon.Rules{Unordered: map[string]string{"a": "set"}}, "a"},
		{"a default that is not JSON", canon.Rules{Defaults: raw(`EUR`)}, "/a"},
		{"a default with a name given twice", canon.Rules{Defaults: raw(`{"x":1,"x":2}`)}, "/a"},
		{"a default without a name", canon.Rules{Defaults: map[string]json.RawMessage{"/a/*": json.RawMessage(`1`)}}, "/a/*"},
		{"a default on a bad pointer", canon.Rules{Defaults: map[string]json.RawMessage{"a": json.RawMessage(`1`)}}, "a"},
		{"a pointer both included and excluded", canon.Rules{Include: []string{"/a"}, Exclude: []string{"/a"}}, "/a"},
		{"a pointer excluded that an include spells in another case", canon.Rules{Include: []string{"/amount/x"}, Exclude: []string{"/AMOUNT"}}, "/AMOUNT"},
		{"a pointer included below an excluded one", canon.Rules{Include: []string{"/a/0/b"}, Exclude: []string{"/a/*"}}, "/a/0/b"},
		{"a required field that is excluded", canon.Rules{Require: []string{"/a/b"}, Exclude: []string{"/a"}}, "/a/b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := canon.CompileWith(c.rules, withNFC)
			var refusal *canon.Error
			if !errors.As(err, &refusal) || refusal.Code != canon.CodeInvalidRules || refusal.Pointer != c.pointer {
				t.Errorf("got %v, want %s at %q", err, canon.CodeInvalidRules, c.pointer)
			}
		})
	}
}

func TestNFCWithoutAnInjectedFunctionIsRefused(t *testing.T) {
	_, err := canon.Compile(canon.Rules{Normalize: map[string][]string{"/a": {"nfc"}}})
	if err == nil || !strings.Contains(err.Error(), "Options.NFC") {
		t.Errorf("got %v, want an error that names Options.NFC", err)
	}
}
