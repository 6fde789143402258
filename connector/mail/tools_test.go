// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deed-run/deed/connector/mail"
	"github.com/deed-run/deed/mcpgate"
)

var _ mcpgate.Local = (*mail.Account)(nil)

func TestTheToolsAndTheirSchemas(t *testing.T) {
	server, cab := startPost(t, nil), startCabinet(t)
	a := withCabinet(t, server, cab, func(o *mail.Options) { o.Lookups = []mail.LookupOptions{{IMAP: []string{"Sent"}}} })
	raw, err := a.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
			Annotations map[string]bool `json:"annotations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	calls := map[string][2]string{
		"mail_send":         {`{"to":["a@example.net"],"subject":"x","text":"y"}`, `{"to":["a@example.net"],"subject":"x","operation_marker":"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}`},
		"mail_reply":        {`{"message_id":"<a@b>","revision":"sha256:` + strings.Repeat("0", 64) + `","text":"y"}`, `{"message_id":"<a@b>","text":"y"}`},
		"mail_reply_all":    {`{"message_id":"<a@b>","revision":"sha256:` + strings.Repeat("0", 64) + `","text":"y"}`, `{"message_id":"<a@b>","text":"y"}`},
		"mail_forward":      {`{"message_id":"<a@b>","revision":"sha256:` + strings.Repeat("0", 64) + `","to":["a@example.net"]}`, `{"message_id":"<a@b>"}`},
		"mail_draft_create": {`{"client_id":"draft:order-1042:1","subject":"x","text":"y"}`, `{"client_id":"short","subject":"x"}`},
		"mail_draft_send":   {`{"draft":"draft:order-1042:1","revision":"sha256:` + strings.Repeat("0", 64) + `"}`, `{"draft":"draft:order-1042:1"}`},
		"mail_draft_read":   {`{"draft":"draft:order-1042:1"}`, `{}`},
		"mail_list":         {`{"limit":5}`, `{"limit":1000}`},
		"mail_read":         {`{"message_id":"<a@b>"}`, `{"message_id":"a@b"}`},
		"mail_lookup":       {`{"marker":"` + marker + `"}`, `{"marker":"*"}`},
	}
	var served []string
	for _, tool := range list.Tools {
		served = append(served, tool.Name)
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.InputSchema))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("tool.json", document); err != nil {
			t.Fatal(err)
		}
		schema, err := compiler.Compile("tool.json")
		if err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		for i, arguments := range calls[tool.Name] {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); (err == nil) != (i == 0) {
				t.Errorf("%s takes %s: %v", tool.Name, arguments, err)
			}
		}
		if len(tool.Annotations) != 4 || tool.Annotations["readOnlyHint"] != (a.Planting(tool.Name) == nil) {
			t.Errorf("%s: hints %v", tool.Name, tool.Annotations)
		}
	}
	want := make([]string, 0, len(calls))
	for name := range calls {
		want = append(want, name)
	}
	slices.Sort(want)
	slices.Sort(served)
	if diff := cmp.Diff(want, served); diff != "" {
		t.Error(diff)
	}
}

func TestListingShowsTheNewestFirst(t *testing.T) {
	server, cab := startPost(t, nil), startCabinet(t)
	a := withCabinet(t, server, cab, nil)
	if out := call(t, t.Context(), a, "mail_list", args{}); of(out) != accepted {
		t.Fatal(out.Message)
	}
	for _, id := range []string{"<m1@x>", "<m2@x>", "<m3@x>"} {
		cab.file(t, "INBOX", strings.Replace(question, "<q2@example.net>", id, 1))
	}
	var got []string
	for _, m := range structured(t, call(t, t.Context(), a, "mail_list", args{"limit": 2}))["mails"].([]any) {
		got = append(got, m.(map[string]any)["message_id"].(string))
	}
	if diff := cmp.Diff([]string{"<m3@x>", "<m2@x>"}, got); diff != "" {
		t.Error(diff)
	}
	if out := call(t, t.Context(), a, "mail_list", args{"folder": "Drafts"}); of(out) != final {
		t.Errorf("a folder that is not the account's to read was read: %s", out.Message)
	}
}

func TestTheLookupAsATool(t *testing.T) {
	server, cab := startPost(t, nil), startCabinet(t)
	cab.file(t, "Sent", sentCopy)
	a := withCabinet(t, server, cab, func(o *mail.Options) { o.Lookups = []mail.LookupOptions{{IMAP: []string{"Sent"}}} })
	shown := structured(t, call(t, t.Context(), a, "mail_lookup", args{"marker": marker}))
	want := map[string]any{"by": "imap", "complete": true, "matches": []any{map[string]any{"token": marker, "id": messageID}}}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
	finding, _, err := a.Find(t.Context(), strings.Repeat("N", 26), time.Time{})
	if err != nil || len(finding.Matches) != 0 || !finding.Complete {
		t.Errorf("%+v, %v", finding, err)
	}
}
