// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// description is the fixture's plain HTTP API as a connector.
func (c class) description(tools string) map[string]any {
	text := fmt.Sprintf(`
system: fixture
base_url: %s
allow_private: true
tools:
  ticket_create:
    method: POST
    path: /tools/ticket.create
    body: json
    input: {properties: {id: {type: string}, title: {type: string}, mark: {type: string}, client_id: {type: string}}, required: [id]}
    receipt: {id: /id, require: true}
    not_applied: [{status: 503, retry_after_needed: true}]
%s`, strings.TrimSuffix(tools, "/"), c.described)
	if strings.Contains(c.described, "lookup:") {
		token, pointer := "{marker}", "/mark"
		if strings.Contains(c.described, "client_id") {
			token, pointer = "{client_id}", "/client_id"
		}
		text += fmt.Sprintf(`
lookups:
  ticket_search:
    path: /tools/ticket.search
    query: {q: "%[1]s"}
    items: /items
    match: {token: %[2]s, equals: "%[1]s"}
    id: /id
    pages: {style: one}
    consistency: strong
`, token, pointer)
	}
	if c.name == "findable-lagging" {
		text = strings.Replace(text, "consistency: strong", "consistency: index\n    lag: "+declaredLag, 1)
		// The index may come up between two ways to look: one of them is enough.
		text = strings.Replace(text, "    reconcile: {lookup: ticket_search}\n", "", 1)
	}
	var block map[string]any
	if err := yaml.Unmarshal([]byte(text), &block); err != nil {
		panic(err)
	}
	return block
}
