// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"unicode"

	"github.com/deed-run/deed"
)

// InferNotice is what a program prints once on standard error when it starts
// with unknown_tool: infer.
const InferNotice = "unknown_tool is infer: a tool whose name begins with get, list, search, read, find, describe, show, count or status " +
	"and holds no verb of change is taken for a read; declare its effect in deed.yaml to change that"

// split cuts a tool's name into lower-case words at _ - . / and where an upper
// case letter begins a word: getHTTPStatus is get, http, status.
func split(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	letters := []rune(name)
	for i, r := range letters {
		switch {
		case r == '_' || r == '-' || r == '.' || r == '/' || r == ':' || unicode.IsSpace(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// readVerb reports whether a name reads as that of a tool that only looks:
// its verb is one of the known ones and nothing in it says otherwise. The verb
// is the first word of the name, of its last dotted part, or after the
// upstream's own name; a read verb elsewhere (mark_read, broadcast_status)
// proves nothing.
func readVerb(tool deed.Tool) (verb string, reads bool) {
	name := tool.Name()
	whole := split(name)
	for _, word := range whole {
		if writes(word) || neverReads(word) {
			return "", false
		}
	}
	if len(whole) > 0 && reading(whole[0]) {
		return whole[0], true
	}
	for _, part := range verbParts(tool) {
		words := split(part)
		if len(words) == 0 || !reading(words[0]) {
			continue
		}
		if words[0] == "read" && len(words) == 1 {
			// A message's .read may well mark it.
			continue
		}
		return words[0], true
	}
	return "", false
}

// verbParts lists the ends of a name that may begin with its verb.
func verbParts(tool deed.Tool) []string {
	name := tool.Name()
	parts := []string{name}
	if i := strings.LastIndexAny(name, "./"); i >= 0 {
		parts = append(parts, name[i+1:])
	}
	own, words := split(tool.Upstream()), split(name)
	if len(own) > 0 && len(words) > len(own) && slices.Equal(words[:len(own)], own) {
		parts = append(parts, strings.Join(words[len(own):], "_"))
	}
	return parts
}

// contradicts finds the word of a name that speaks against a readOnlyHint.
func contradicts(tool deed.Tool) (word string, found bool) {
	tool = withoutNamespace(tool)
	for _, word := range split(tool.Name()) {
		if writes(word) {
			return word, true
		}
	}
	for _, part := range verbParts(tool) {
		if words := split(part); len(words) > 0 && writesAsVerb(words[0]) {
			return words[0], true
		}
	}
	return "", false
}

// withoutNamespace leaves out the one word before a dot that a read verb follows:
// the pay of pay.get says what is read, not what is done.
func withoutNamespace(tool deed.Tool) deed.Tool {
	space, rest, dotted := strings.Cut(tool.Name(), ".")
	words := split(rest)
	if !dotted || len(split(space)) != 1 || len(words) == 0 || !reading(words[0]) || len(words) == 1 && words[0] == "read" {
		return tool
	}
	return deed.Tool(tool.Upstream() + "/" + rest)
}

// reading holds the verbs that design calls reads.
func reading(word string) bool {
	switch word {
	case "get", "list", "search", "read", "find", "describe", "show", "count", "status":
		return true
	}
	return false
}

// neverReads holds words that can mean anything, and the joints of names with
// two verbs.
func neverReads(word string) bool {
	switch word {
	case "query", "execute", "run", "call", "request", "and", "or", "then":
		return true
	}
	return false
}

// writes holds verbs that change something wherever they stand in a name.
func writes(word string) bool {
	switch word {
	case "accept", "ack", "acknowledge", "activate", "add", "append", "apply", "approve", "assign", "attach", "ban", "buy",
		"cancel", "change", "clear", "close", "confirm", "create", "deactivate", "decline", "decrement", "delete", "deploy",
		"destroy", "detach", "disable", "disconnect", "dismiss", "drop", "edit", "enable", "erase", "grant", "increment",
		"insert", "install", "kill", "mark", "modify", "mutate", "mute", "notify", "overwrite", "patch", "pay", "prune",
		"publish", "purchase", "purge", "put", "reject", "remove", "rename", "replace", "reserve", "reset", "restart",
		"restore", "revert", "revoke", "rotate", "save", "sell", "send", "set", "submit", "subscribe", "suspend",
		"terminate", "toggle", "trigger", "truncate", "unarchive", "unassign", "unban", "uninstall", "unlink", "unlock",
		"unmute", "unregister", "unsubscribe", "update", "upload", "upsert", "void", "wipe", "withdraw", "write":
		return true
	}
	return false
}

// writesAsVerb holds words that are verbs of change where a verb stands and
// things elsewhere: post_message, get_post.
func writesAsVerb(word string) bool {
	switch word {
	case "archive", "block", "book", "branch", "broadcast", "build", "charge", "checkout", "clone", "comment", "commit",
		"complete", "copy", "deposit", "email", "emit", "finish", "follow", "fork", "forward", "import", "invite", "invoice",
		"issue", "join", "label", "leave", "like", "link", "lock", "mail", "make", "merge", "message", "move", "open", "order",
		"post", "pull", "push", "rebase", "refund", "register", "release", "reply", "report", "resolve", "schedule", "share",
		"ship", "sign", "star", "start", "stash", "stop", "store", "sync", "tag", "transfer", "unfollow", "vote":
		return true
	}
	return writes(word)
}
