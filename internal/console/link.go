// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/deed-run/deed"
)

// checkTemplate refuses a link that would not be one.
func checkTemplate(text string) error {
	if text == "" {
		return nil
	}
	if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
		return fmt.Errorf("%q does not begin with https:// or http://", text)
	}
	for _, name := range placeholders(text) {
		switch name {
		case "trace_id", "operation_id", "tool", "key":
		default:
			if !strings.HasPrefix(name, "meta.") {
				return fmt.Errorf("%q has {%s}; there are {trace_id}, {operation_id}, {tool}, {key}, {meta.NAME}", text, name)
			}
		}
	}
	return nil
}

func placeholders(text string) []string {
	var names []string
	for _, match := range regexp.MustCompile(`\{([^{}]*)\}`).FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// expand fills a template's places with escaped values.
func expand(template string, op *deed.Operation, trace string) string {
	values := []string{"{trace_id}", trace, "{operation_id}", string(op.ID), "{tool}", string(op.Tool), "{key}", keyOf(op)}
	for name, value := range op.Meta {
		values = append(values, "{meta."+name+"}", value)
	}
	for i := 1; i < len(values); i += 2 {
		values[i] = url.QueryEscape(values[i])
	}
	return strings.NewReplacer(values...).Replace(template)
}
