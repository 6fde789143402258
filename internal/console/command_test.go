// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

var copied = regexp.MustCompile(`<pre class="payload copy"[^>]*>([^<]*)</pre>`)

// toCopy are the commands of an operation's page.
func toCopy(page string) []string {
	var list []string
	for _, match := range copied.FindAllStringSubmatch(page, -1) {
		list = append(list, html.UnescapeString(match[1]))
	}
	return list
}

func TestWhereTheAPILetsNobodyDecideCommandsNameTheLedger(t *testing.T) {
	r := newRig(t, func(o *console.Options) {
		o.Tokens, o.Local, o.Bootstrap = nil, &deed.Principal{Tenant: "acme", Actor: "support-agent"}, strings.Repeat("b", 40)
		o.Address, o.Ledger, o.Config = "http://127.0.0.1:7391", "/srv/deed one.db", "/srv/deed.yaml"
	})
	op := r.call(refund, "refund:order-1042:first", `{"order_id":"1042","amount":12}`, unknown()).Operation
	id := string(op.ID)
	page := (&person{rig: r}).page("/op/" + id)
	want(t, page, "no auth is configured")
	commands := []string{
		"deed ops show " + id + " --ledger '/srv/deed one.db'",
		"curl -sS 'http://127.0.0.1:7391/v1/operations/" + id + "'",
		"deed ops resolve " + id + " --ledger '/srv/deed one.db' --committed --remote-id ID --reason REASON",
		"deed ops resolve " + id + " --ledger '/srv/deed one.db' --not-applied --reason REASON",
		"deed ops resolve " + id + " --ledger '/srv/deed one.db' --abandon --reason REASON",
		"deed ops reconcile " + id + " --config '/srv/deed.yaml' --ledger '/srv/deed one.db'",
	}
	if diff := cmp.Diff(commands, toCopy(page)); diff != "" {
		t.Error(diff)
	}
}

func TestWhereSomebodyIsKnownCommandsNameTheServer(t *testing.T) {
	r := newRig(t, func(o *console.Options) { o.Address = "https://deed.example" })
	op := r.call(payout, "payout:acme:2026-03:1", `{"to":"acme","amount":12}`, nil).Operation
	page := r.as("approver-token").page("/op/" + string(op.ID))
	if strings.Contains(page, "no auth is configured") || strings.Contains(page, "--ledger") {
		t.Errorf("the page says\n%s", page)
	}
	got := strings.Join(toCopy(page), "\n")
	want(t, got, "deed ops approve "+string(op.ID)+" --server 'https://deed.example' --digest "+string(op.Approval.Digest), "/approve'", `curl -sS -H "Authorization: Bearer $DEED_TOKEN"`)
}
