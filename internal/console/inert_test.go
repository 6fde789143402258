// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"encoding/csv"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// TestHostileTextIsInert puts hostile text into everything that outsiders
// write, and looks at every page.
func TestHostileTextIsInert(t *testing.T) {
	r := newRig(t, nil)
	call := callOf(refund, "refund:order-1:first", `{"order_id":`+jsonText(hostileText)+`,"amount":1,"note":"\u202e"}`)
	call.Meta = map[string]string{"conversation": hostileText, `<b>"name`: "x"}
	hostile := deed.Receipt{RemoteSystem: hostileText, RemoteID: hostileText, RemoteURL: "javascript:window.owned=1"}
	done := r.make(call, &deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: hostile, Result: []byte(hostileText)}).Operation
	doubt := r.call(refund, "refund:order-2:first", `{"order_id":"2","amount":1}`, &deed.Outcome{Kind: deed.OutcomeUnknown, Message: hostileText}).Operation
	waits := r.call(payout, "payout:x:first-one", `{"memo":`+jsonText(hostileText)+`}`, nil).Operation
	olga := r.as("operator-token")
	q := url.QueryEscape(hostileText)
	for _, path := range []string{
		"/", "/ledger", "/ledger?text=" + q, "/ledger?status=" + q, "/ledger?since=" + q, "/ledger?tool=" + q, "/uncertain", "/approvals",
		"/op/" + string(done.ID), "/op/" + string(doubt.ID), "/op/" + string(waits.ID), "/op/" + string(done.ID) + "/conflicts",
		"/compare?a=" + string(done.ID) + "&b=" + string(doubt.ID), "/op/" + url.PathEscape(hostileText), "/login?next=" + q, "/?done=" + q,
	} {
		body := olga.get(path).Body.String()
		for _, live := range []string{"<script>window", "<img", "href=\"javascript", "<b>"} {
			if strings.Contains(strings.ReplaceAll(body, `<img src="/assets/`, ""), live) {
				t.Errorf("%s holds %q", path, live)
			}
		}
		// What people edit is the bytes themselves; everywhere else nothing hides.
		shown := body
		if before, after, found := strings.Cut(body, `<textarea id="edited"`); found {
			_, rest, _ := strings.Cut(after, "</textarea>")
			shown = before + rest
		}
		if strings.HasPrefix(path, "/ledger?") {
			continue // the filter's own fields hold what was typed into them
		}
		for name, char := range map[string]string{"an override": "\u202e", "a zero-width space": "\u200b", "a tag": "\U000E0041", "an escape": "\x1b"} {
			if strings.Contains(shown, char) {
				t.Errorf("%s shows %s as it is", path, name)
			}
		}
	}
	want(t, olga.page("/op/"+string(done.ID)), "U&#43;202E right-to-left override", "U&#43;200B zero-width space", "U&#43;E0041", `>\u202e</span>`, "hidden characters")
}

func TestExport(t *testing.T) {
	r := newRig(t, nil)
	for i, id := range []string{"=cmd|'/c calc'!A1", "+1", "-2", "@SUM(A1)", "\tx", "re_6"} {
		r.call(refund, "refund:order-"+strings.Repeat("x", i+5)+":first", `{"order_id":"`+strings.Repeat("x", i+1)+`","amount":1}`, success(id))
		r.clock.Advance(time.Second)
	}
	r.call(refund, "refund:order-doubt:first", `{"order_id":"d","amount":1}`, unknown())
	vera := r.as("viewer-token")
	w := vera.get("/export?format=csv&status=committed")
	table, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, line := range table[1:] {
		ids = append(ids, line[11])
		for _, cell := range line {
			if cell != "" && strings.ContainsRune("=+-@\t", rune(cell[0])) {
				t.Errorf("a spreadsheet would run %q", cell)
			}
		}
	}
	if diff := cmp.Diff([]string{"re_6", "'\tx", "'@SUM(A1)", "'-2", "'+1", "'=cmd|'/c calc'!A1"}, ids); diff != "" {
		t.Errorf("remote ids (-want +got):\n%s", diff)
	}
	w = vera.get("/export?format=ndjson")
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(lines) != 7 {
		t.Fatalf("%d lines, want 7", len(lines))
	}
	var op api.Operation
	if err := json.Unmarshal([]byte(lines[0]), &op); err != nil || op.Status != deed.StatusUncertain || op.Arguments != nil {
		t.Errorf("%+v, %v", op, err)
	}
	if w := vera.get("/export?format=xlsx"); w.Code != 400 {
		t.Errorf("HTTP %d", w.Code)
	}
}

func TestConflictsShowWhatIsKnown(t *testing.T) {
	r := newRig(t, nil)
	op := r.call(refund, "refund:order-1:first", `{"order_id":"1","amount":12,"lines":[1,2,3]}`, success("re_1")).Operation
	other := `{"lines":[1,9,2,3],"order_id":"1","amount":12.50,"note":"more"}`
	r.call(refund, "refund:order-1:first", other, nil)
	r.call(refund, "refund:order-1:first", other, nil)
	vera := r.as("viewer-token")
	address := "/op/" + string(op.ID)
	want(t, vera.page(address), "2 calls with this key asked for another effect")
	page := vera.page(address + "/conflicts")
	want(t, page, "× 2", "idempotency key reused with different effect", "what it would have changed is not known here", string(op.Fingerprint))

	r.call(refund, "refund:order-1:corrected", other, success("re_2"))
	page = vera.page(address + "/conflicts")
	want(t, page, "Exactly the refused effect is also recorded as", "/amount", "12.5", "/note", "added", "/lines/1")
	for _, path := range []string{"/order_id", "/lines/0", "/lines/2"} {
		if strings.Contains(page, ">"+path+"<") {
			t.Errorf("%s does not differ", path)
		}
	}

	given := vera.post(address+"/compare", url.Values{"arguments": {`{"amount":12.0,"lines":[1,2,3],"order_id":"1"}`}})
	want(t, given.Body.String(), "They mean the same as what is recorded.")
	given = vera.post(address+"/compare", url.Values{"arguments": {`{"amount":12,"lines":[1,2,3],"order_id":"2"}`}})
	want(t, given.Body.String(), "/order_id")
	given = vera.post(address+"/compare", url.Values{"arguments": {`{broken`}})
	want(t, given.Body.String(), "(whole)")
}
