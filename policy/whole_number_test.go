// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

const ledgerFile = `
upstreams: {a: {command: [x]}}
tools:
  a/post:
    marker: {into: /ref}
    reconcile: {tool: a/find, args: {q: "{marker}"}, found: "FOUND", id: item.id, result: {structuredContent: {entry: "{item./entry}"}}, pages: {next: result.next, arg: /page}}
`

func TestALookUpKeepsEveryDigitOfAnID(t *testing.T) {
	for found, answer := range map[string]string{
		"result.list.filter(i, i.ref == marker)":                   `{"next":18446744073709551615,"list":[{"id":12345678901234567890,"entry":9007199254740993,"ref":"` + mark + `"}]}`,
		"json(result.text).filter(i, i.ref == marker)":             `{"next":18446744073709551615,"text":"[{\"id\":12345678901234567890,\"entry\":9007199254740993,\"ref\":\"` + mark + `\"}]"}`,
		"result.list.filter(i, i.ref == marker && i.amount > 0.1)": `{"next":18446744073709551615,"list":[{"id":12345678901234567890,"entry":9007199254740993,"ref":"` + mark + `","amount":0.10000000000000002}]}`,
	} {
		probe := probeOf(t, strings.ReplaceAll(ledgerFile, "FOUND", found), "a/post")
		got, err := probe.Matches(inquest(), []byte(answer))
		want := []deed.Match{{
			RemoteID: "12345678901234567890", Token: mark,
			Result: []byte(`{"structuredContent":{"entry":9007199254740993},"content":[{"type":"text","text":"{\"entry\":9007199254740993}"}]}`),
		}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: matches differ (-want +got):\n%s%v", found, diff, err)
		}
		if cursor, more, err := probe.Next(inquest(), []byte(answer)); string(cursor) != "18446744073709551615" || !more || err != nil {
			t.Errorf("%s: the next page is %s, %v, %v", found, cursor, more, err)
		}
	}
}

// Whether the server rounds such a number nobody knows: neither "there is one" nor
// "there is none" is evidence.
func TestWhatDependsOnARoundedNumberIsNoEvidence(t *testing.T) {
	for _, found := range []string{
		"result.list.filter(i, i.ref == marker && i.n == args.project.n)",
		"json(result.text).filter(i, i.ref == marker && i.n == args.project.n)",
		"result.list.all(i, i.ref != marker || i.n != args.project.n) ? [] : result.list",
	} {
		probe := probeOf(t, strings.ReplaceAll(ledgerFile, "FOUND", found), "a/post")
		for _, n := range []string{"12345678901234567000", "12345678901234567891"} {
			answer := `{"list":[{"ref":"` + mark + `","id":"1","n":` + n + `}],"text":"[{\"ref\":\"` + mark + `\",\"id\":\"1\",\"n\":` + n + `}]"}`
			if got, err := probe.Matches(inquest(), []byte(answer)); err == nil || !strings.Contains(err.Error(), "9223372036854775807") {
				t.Errorf("%s with %s: %v, %v", found, n, got, err)
			}
		}
		answer := `{"list":[{"ref":"` + mark + `","id":"1","entry":1,"n":12345678901234567890}],"text":"[{\"ref\":\"` + mark + `\",\"id\":\"1\",\"entry\":1,\"n\":12345678901234567890}]"}`
		if got, err := probe.Matches(inquest(), []byte(answer)); err != nil || len(got) != 1 {
			t.Errorf("%s with the same number: %v, %v", found, got, err)
		}
		answer = `{"list":[{"ref":"` + mark + `","id":"1","entry":1,"n":5}],"text":"[{\"ref\":\"` + mark + `\",\"id\":\"1\",\"entry\":1,\"n\":5}]"}`
		if got, err := probe.Matches(inquest(), []byte(answer)); err != nil || len(got) != 0 {
			t.Errorf("%s with another number: %v, %v", found, got, err)
		}
	}
}

func TestTwoVersionsThatADoubleTakesForOneDiffer(t *testing.T) {
	subject := parse(t, `
upstreams: {a: {command: [x]}}
tools: {a/more: {revision: {tool: a/get_thing, value: "result.v"}}}
`).ToolSettings("a/more").Subject
	for _, version := range []string{"18446744073709551614", "18446744073709551615", "184467440737095516150", "0.1", "7"} {
		if got, err := subject.Value([]byte(`{"v":` + version + `}`)); got != version || err != nil {
			t.Errorf("the version %s is read as %s, %v", version, got, err)
		}
	}
}
