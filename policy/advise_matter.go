// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// betterMatter proposes what a call is about, of the arguments that the tool has.
func betterMatter(tool ListedTool, entry Tool) []string {
	if len(entry.Matter) > 0 {
		return nil
	}
	const effect = "then a call about the same thing in other words waits while one is unresolved"
	if about := subjectOf(tool.Arguments); about != "" {
		return []string{"write matter: [" + about + "], or whatever arguments say what the call is about: " + effect}
	}
	return []string{"write matter: and pointers to the arguments that say what the call is about, if any do: " + effect}
}

// subjectOf picks arguments that most likely say what a call is about: ids of things,
// else who gets a message and what it is about, else names and places.
func subjectOf(arguments []string) string {
	if i := slices.IndexFunc(arguments, namesThing); i >= 0 {
		return pointerTo(arguments[i])
	}
	var message []string
	for _, name := range []string{"to", "recipient", "recipients", "email", "channel", "subject"} {
		if slices.Contains(arguments, name) {
			message = append(message, pointerTo(name))
		}
	}
	if len(message) > 0 {
		return strings.Join(message, ", ")
	}
	for _, name := range []string{"path", "file", "url", "name", "title", "account", "customer", "order", "number", "reference"} {
		if slices.Contains(arguments, name) {
			return pointerTo(name)
		}
	}
	return ""
}

// namesThing reports whether an argument is the id of a thing; those of requests and
// retries name calls.
func namesThing(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "requestid", "correlationid", "traceid", "idempotencyid", "sessionid":
		return false
	}
	return name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "Id")
}

func pointerTo(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
