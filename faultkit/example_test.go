// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/deed-run/deed/faultkit"
)

// A test of your own tool is one call of Prove:
//
//	func TestRefundsHappenOnce(t *testing.T) { faultkit.Prove(t, options) }
func ExampleProve() {
	options := faultkit.ProveOptions{
		Binary:  "deed",
		Fixture: []string{"fixture"},
		Config:  "deed.yaml",
		Tool:    "payments/refund",
		Args:    json.RawMessage(`{"order_id":"{{n}}","amount":1}`),
	}
	_ = options
}

// The suite can also be run by a program, which reads the verdict from the report.
func ExampleRun() {
	report, err := faultkit.Run(context.Background(), faultkit.Options{Binary: "deed", Fixture: []string{"fixture"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = report.WriteTable(os.Stdout)
	fmt.Println("passed:", report.Passed(), "duplicates:", report.Duplicated())
}
