// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"maps"
	"strings"

	"github.com/deed-run/deed/faultkit/provider"
)

// routes says of the provider's API what tools say of its tools: arguments are
// the body of a request there, and the receipt is in the body of the response.
func routes(tools map[string]any) map[string]any {
	list := map[string]any{}
	for _, tool := range provider.Tools() {
		if tool.ReadOnly {
			continue
		}
		rules, _ := tools[tool.Name].(map[string]any)
		list["POST shop/tools/"+tool.Name] = routed(rules)
	}
	return list
}

func routed(rules map[string]any) map[string]any {
	route := map[string]any{"key": "required"}
	for name, value := range rules {
		switch name {
		case "receipt":
			route[name] = map[string]any{"system": "shop", "id": "/id"}
		case "failed":
		default:
			route[name] = intoBody(value)
		}
	}
	return route
}

// intoBody moves pointers and conditions about arguments into the body.
func intoBody(value any) any {
	switch v := value.(type) {
	case string:
		if strings.HasPrefix(v, "/") {
			return "/body" + v
		}
		return strings.ReplaceAll(v, "args.", "args.body.")
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = intoBody(one)
		}
		return list
	case map[string]any:
		moved := maps.Clone(v)
		for name, one := range v {
			moved[name] = intoBody(one)
		}
		return moved
	}
	return value
}
