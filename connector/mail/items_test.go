// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
)

func TestRecipientsAreToldApart(t *testing.T) {
	three := args{"to": []string{"a@example.net", "b@example.net"}, "bcc": []string{"c@example.net"}, "subject": "Hello", "text": "Good day."}
	for _, c := range []struct {
		name    string
		refused map[string]int
		dot     int
		want    verdict
		items   map[string]deed.OutcomeKind
		to      []string
	}{
		{"all are taken", nil, 0, accepted, items("a success", "b success", "c success"), []string{"a", "b", "c"}},
		{"one of three is refused", map[string]int{"b": 550}, 0, accepted, items("a success", "b refused", "c success"), []string{"a", "c"}},
		{"one is put off", map[string]int{"c": 450}, 0, accepted, items("a success", "b success", "c refused"), []string{"a", "b"}},
		{"all are refused", map[string]int{"a": 550, "b": 551, "c": 553}, 0, final, items("a refused", "b refused", "c refused"), nil},
		{"two are refused and one is put off", map[string]int{"a": 550, "b": 450, "c": 553}, 0, retryable, items("a refused", "b refused", "c refused"), nil},
		{"one is refused, and then the mail", map[string]int{"a": 550}, 554, final, items("a refused", "b refused", "c refused"), nil},
		{"one is put off, and then the mail is refused", map[string]int{"a": 450}, 554, retryable, items("a refused", "b refused", "c refused"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := startPost(t, nil)
			server.refuse = func(stage, address string) error {
				if code := c.refused[strings.TrimSuffix(address, "@example.net")]; stage == "RCPT" && code != 0 {
					return answer(code)
				}
				if stage == "dot" && c.dot != 0 {
					return answer(c.dot)
				}
				return nil
			}
			out := call(t, t.Context(), account(t, server.address, nil), "mail_send", three)
			if diff := cmp.Diff(c.want, of(out)); diff != "" {
				t.Errorf("%s\n%s", diff, out.Message)
			}
			got := map[string]deed.OutcomeKind{}
			for _, item := range out.Receipt.Items {
				got[item.ID] = item.Outcome
				if item.Outcome == deed.OutcomeRefused && item.Reason == "" {
					t.Errorf("nothing says why %s was refused", item.ID)
				}
			}
			if diff := cmp.Diff(c.items, got); diff != "" {
				t.Error(diff)
			}
			var to []string
			for _, mail := range server.accepted() {
				for _, address := range mail.To {
					to = append(to, strings.TrimSuffix(address, "@example.net"))
				}
			}
			if diff := cmp.Diff(c.to, to); diff != "" {
				t.Errorf("the server took it for others: %s", diff)
			}
			for name := range c.refused {
				if !strings.Contains(out.Message, name+"@example.net") && c.dot == 0 {
					t.Errorf("the answer does not name %s: %s", name, out.Message)
				}
			}
		})
	}
}

func items(list ...string) map[string]deed.OutcomeKind {
	out := map[string]deed.OutcomeKind{}
	for _, item := range list {
		name, kind, _ := strings.Cut(item, " ")
		out[name+"@example.net"] = deed.OutcomeKind(kind)
	}
	return out
}

func TestTheReceiptOfASentMail(t *testing.T) {
	server := startPost(t, nil)
	out := call(t, t.Context(), account(t, server.address, nil), "mail_send", plainMail())
	want := deed.Receipt{
		RemoteSystem: "smtp://" + server.address, RemoteID: messageID,
		Items: []deed.Item{{ID: "a@example.net", Outcome: deed.OutcomeSuccess}},
	}
	if diff := cmp.Diff(want, out.Receipt); diff != "" {
		t.Error(diff)
	}
	shown := structured(t, out)
	if shown["status"] != "accepted_for_delivery" || shown["message_id"] != messageID {
		t.Errorf("shown as %v", shown)
	}
	if got := server.accepted()[0].Raw; !strings.Contains(got, "\r\nMessage-ID: "+messageID+"\r\n") {
		t.Errorf("the mail does not carry its operation's Message-ID:\n%s", got)
	}
	m, err := netmail.ReadMessage(strings.NewReader(server.accepted()[0].Raw))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range m.Header {
		if len(values) != 1 {
			t.Errorf("%s stands there %d times: %q", name, len(values), values)
		}
	}
}
