// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/sqlite"
)

func TestAnIDThatNoRuleNamesIsTold(t *testing.T) {
	const says = `the result has an "id" member, `
	for name, c := range map[string]struct{ id, result, want string }{
		"structured":           {"", `{"content":[],"structuredContent":{"id":"re_1"}}`, says + "re_1, which no rule names as the receipt's id; where it is, say receipt: {id: /structuredContent/id} in the entry of pay/refund, for the next calls"},
		"a number at the top":  {"", `{"id":17}`, says + "17, which no rule names as the receipt's id; where it is, say receipt: {id: /id} in the entry of pay/refund, for the next calls"},
		"named by a rule":      {"re_1", `{"structuredContent":{"id":"re_1"}}`, ""},
		"an id that is a list": {"", `{"structuredContent":{"id":["re_1"]}}`, ""},
		"no id":                {"", `{"content":[]}`, ""},
		"no JSON":              {"", `id`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			ledger, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			rt, err := deed.New(deed.Options{Store: ledger, Policy: deed.FixedPolicy{"pay/refund": deed.DefaultRule("pay/refund")}})
			if err != nil {
				t.Fatal(err)
			}
			answer, grant, err := rt.Claim(t.Context(), deed.Call{
				Principal: deed.Principal{Tenant: "default", Actor: "support", Rights: []deed.Right{deed.RightCall}},
				Tool:      "pay/refund", Key: deed.OperationKey("refund:order-1042:first"), Arguments: []byte(`{}`),
			})
			if err != nil || grant == nil {
				t.Fatalf("%+v, %v", answer, err)
			}
			_, err = rt.Settle(t.Context(), grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: c.id}, Result: []byte(c.result)})
			if err := errors.Join(err, rt.Close(t.Context()), ledger.Close()); err != nil {
				t.Fatal(err)
			}
			got := deedCommand(t, "ops", "show", string(grant.Operation), "--ledger", path)
			if c.want == "" && strings.Contains(got, says) || !strings.Contains(got, c.want) {
				t.Errorf("it says:\n%s\nwant %q", got, c.want)
			}
		})
	}
}
