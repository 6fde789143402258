// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

const ticketFile = `
upstreams: {tickets: {command: [x]}}
tools:
  tickets/create:
    marker: {append: /description, template: "<!-- {marker} -->"}
    max_processing: 2m
    reconcile:
      tool: ./search
      args: {q: "op {marker}", project: "{args./project}", limit: 50}
      found: "result.structuredContent.items.filter(i, i.description.contains(marker))"
      id: item.id
      url: "'https://t.example/' + item.id"
      result: {structuredContent: {id: "{id}", title: "{item./title}", project: "{args./project}"}}
      lag: 10s
      give_up: 30m
      inline: true
      pages: {next: result.structuredContent.next, arg: /page/cursor}
`

const mark = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

func inquest() deed.Inquest {
	return deed.Inquest{
		Operation: &deed.Operation{ID: "op_1", Arguments: []byte(`{"project":{"n":12345678901234567890}}`), Fingerprint: "sha256:f"},
		Marks:     deed.Marks{Marker: mark},
	}
}

func probeOf(t *testing.T, text string, tool deed.Tool) *policy.Probe {
	t.Helper()
	return parse(t, text).ToolSettings(tool).Probe
}

func TestTheArgumentsOfALookUp(t *testing.T) {
	probe := probeOf(t, ticketFile, "tickets/create")
	got, err := probe.Arguments(inquest(), nil)
	if want := `{"q":"op ` + mark + `","project":{"n":12345678901234567890},"limit":50}`; err != nil || string(got) != want {
		t.Errorf("first page %s, %v", got, err)
	}
	got, err = probe.Arguments(inquest(), []byte(`"c2"`))
	if err != nil || !strings.HasSuffix(string(got), `,"limit":50,"page":{"cursor":"c2"}}`) {
		t.Errorf("next page %s, %v", got, err)
	}
	q := inquest()
	q.Marks.Marker = ""
	if got, err := probe.Arguments(q, nil); err == nil {
		t.Errorf("without a marker %s is asked", got)
	}
	q = inquest()
	q.Operation.Arguments = []byte(`{}`)
	if got, err := probe.Arguments(q, nil); err == nil || !strings.Contains(err.Error(), "{args./project}") {
		t.Errorf("without a project %s is asked (%v)", got, err)
	}
}

func TestWhatALookUpFinds(t *testing.T) {
	probe := probeOf(t, ticketFile, "tickets/create")
	result := `{"structuredContent":{"items":[{"id":"T-1","title":"a","description":"x"},{"id":"T-2","title":"b","description":"y <!-- ` + mark + ` -->"}]}}`
	got, err := probe.Matches(inquest(), []byte(result))
	if err != nil {
		t.Fatal(err)
	}
	rebuilt := `{"structuredContent":{"id":"T-2","title":"b","project":{"n":12345678901234567890}},` +
		`"content":[{"type":"text","text":"{\"id\":\"T-2\",\"project\":{\"n\":12345678901234567890},\"title\":\"b\"}"}]}`
	want := []deed.Match{{RemoteID: "T-2", URL: "https://t.example/T-2", Token: mark, Result: []byte(rebuilt)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("matches differ (-want +got):\n%s", diff)
	}
	for name, result := range map[string]string{
		"no JSON":              `oops`,
		"no list":              `{"structuredContent":{}}`,
		"an item without text": `{"structuredContent":{"items":[{"id":"T-1"}]}}`,
		"no id":                `{"structuredContent":{"items":[{"description":"` + mark + `","title":"a"}]}}`,
		"an id that is a list": `{"structuredContent":{"items":[{"id":[1],"description":"` + mark + `","title":"a"}]}}`,
	} {
		if got, err := probe.Matches(inquest(), []byte(result)); err == nil {
			t.Errorf("%s finds %+v", name, got)
		}
	}
}

func TestAnObjectThatDoesNotHoldTheMarkIsNotOurs(t *testing.T) {
	probe := probeOf(t, `
upstreams: {a: {command: [x]}}
tools: {a/make: {marker: {into: /ref}, reconcile: {tool: a/find, args: {q: "{marker}"}, found: "marker != '' ? result.list : []"}}}
`, "a/make")
	got, err := probe.Matches(inquest(), []byte(`{"list":[{"id":7,"ref":"other"},{"id":8,"ref":"`+mark+`"}]}`))
	want := []deed.Match{{RemoteID: "7"}, {RemoteID: "8", Token: mark}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("matches differ (-want +got):\n%s%v", diff, err)
	}
}

func TestAMatchTellsItsOwnToken(t *testing.T) {
	probe := probeOf(t, `
upstreams: {a: {command: [x]}}
tools:
  a/make:
    marker: {into: /ref}
    reconcile: {tool: a/find, args: {q: "{marker}"}, found: "json(result.content[0].text).filter(i, i.ref == marker)", token: item.ref, id: string(item.n)}
`, "a/make")
	got, err := probe.Matches(inquest(), []byte(`{"content":[{"type":"text","text":"[{\"n\":5,\"ref\":\"`+mark+`\"},{\"n\":6,\"ref\":\"x\"}]"}]}`))
	if diff := cmp.Diff([]deed.Match{{RemoteID: "5", Token: mark}}, got); diff != "" || err != nil {
		t.Errorf("matches differ (-want +got):\n%s%v", diff, err)
	}
}

func TestTheStateThatAnIdempotentToolWants(t *testing.T) {
	probe := probeOf(t, `
upstreams: {a: {command: [x]}}
tools: {a/set: {effect: idempotent, reconcile: {tool: a/get, args: {p: "{args./project}"}, found: "result.state == args.project ? [result] : []", id: "'s'"}}}
`, "a/set")
	got, err := probe.Matches(inquest(), []byte(`{"state":{"n":12345678901234567890}}`))
	if diff := cmp.Diff([]deed.Match{{RemoteID: "s", Token: "sha256:f"}}, got); diff != "" || err != nil {
		t.Errorf("matches differ (-want +got):\n%s%v", diff, err)
	}
}

func TestLookingUpReadsAllPages(t *testing.T) {
	probe := probeOf(t, ticketFile, "tickets/create")
	page := func(next, description string) string {
		return `{"structuredContent":{"next":` + next + `,"items":[{"id":"T","title":"a","description":"` + description + `"}]}}`
	}
	var asked []string
	look := func(pages ...string) (deed.Verdict, error) {
		asked = nil
		return probe.LookUp(t.Context(), inquest(), func(_ context.Context, tool deed.Tool, arguments []byte) ([]byte, error) {
			if tool != "tickets/search" {
				t.Errorf("%s was asked", tool)
			}
			asked = append(asked, string(arguments))
			if len(asked) > len(pages) {
				return nil, errors.New("no such page")
			}
			return []byte(pages[len(asked)-1]), nil
		})
	}
	for _, test := range []struct {
		name    string
		pages   []string
		kind    deed.VerdictKind
		matches int
		fails   string
	}{
		{"one page without", []string{page("null", "x")}, deed.VerdictAbsent, 0, ""},
		{"found on the second", []string{page(`"2"`, "x"), page(`""`, mark)}, deed.VerdictFound, 1, ""},
		{"found on both", []string{page(`"2"`, mark), page(`null`, mark)}, deed.VerdictMany, 2, ""},
		{"the second fails", []string{page(`"2"`, mark)}, deed.VerdictUndetermined, 1, "no such page"},
		{"a page that comes again", []string{page(`"2"`, "x"), page(`"2"`, "x")}, deed.VerdictUndetermined, 0, "read before"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := look(test.pages...)
			if v.Kind != test.kind || len(v.Matches) != test.matches || v.Complete != (test.fails == "") || v.Strategy != "tool:tickets/search" {
				t.Errorf("verdict %+v", v)
			}
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error %v", err)
			}
		})
	}
	n := 0
	_, err := probe.LookUp(t.Context(), inquest(), func(context.Context, deed.Tool, []byte) ([]byte, error) {
		n++
		return []byte(page(`"`+strings.Repeat("x", n)+`"`, "x")), nil
	})
	if err == nil || n != 100 {
		t.Errorf("a list without end was read for %d pages: %v", n, err)
	}
}

func TestARuleSaysWhatIsPlantedAndLookedUp(t *testing.T) {
	config := parse(t, ticketFile)
	rule := config.Policy().Rule("tickets/create", deed.ToolFacts{})
	if rule.MaxProcessing != 2*time.Minute || rule.ReadLag != 10*time.Second || rule.GiveUp != 30*time.Minute || !rule.ReconcileInline || rule.ProviderKey != nil {
		t.Errorf("rule %+v", rule)
	}
	if got := config.Policy().Rule("tickets/search", deed.ToolFacts{}); got.Effect != deed.EffectReadOnly {
		t.Errorf("what looks up is %s: %s", got.Effect, got.Why)
	}
	destructive := true
	if got := config.Policy().Rule("tickets/search", deed.ToolFacts{DestructiveHint: &destructive}); got.Effect == deed.EffectReadOnly {
		t.Error("a destructive tool is read-only")
	}
	if got := config.Policy().Rule("tickets/other", deed.ToolFacts{}); got.Planting != nil || got.GiveUp != 0 {
		t.Errorf("another tool has %+v", got)
	}
}

func TestWhatWasCreatedAndWhatACallIsAbout(t *testing.T) {
	settings := parse(t, `
upstreams: {a: {command: [x]}}
tools:
  a/make: {resource: {get: ./get_thing, id: /ref/id}, revision: {tool: a/get_thing, args: {id: "{args./id}"}, value: /structuredContent/v}}
  a/more: {revision: {tool: a/get_thing, value: "string(result.v) + '!'"}}
`).ToolSettings("a/make")
	if got, err := settings.Resource.Arguments(deed.Receipt{RemoteID: "T-1"}); err != nil || string(got) != `{"ref":{"id":"T-1"}}` || settings.Resource.Get != "a/get_thing" {
		t.Errorf("%s is asked for %s, %v", settings.Resource.Get, got, err)
	}
	if got, err := settings.Resource.Arguments(deed.Receipt{}); err == nil {
		t.Errorf("without an id %s is asked", got)
	}
	if got, err := settings.Subject.Arguments([]byte(`{"id":7}`)); err != nil || string(got) != `{"id":7}` {
		t.Errorf("the subject is asked for with %s, %v", got, err)
	}
	if got, err := settings.Subject.Value([]byte(`{"structuredContent":{"v":3.0}}`)); err != nil || got != "3" {
		t.Errorf("version %s, %v", got, err)
	}
	for _, result := range []string{`{}`, `{"structuredContent":{"v":null}}`, `x`} {
		if got, err := settings.Subject.Value([]byte(result)); err == nil {
			t.Errorf("%s has version %s", result, got)
		}
	}
}
