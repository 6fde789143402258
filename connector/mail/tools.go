// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"encoding/json"
)

// The tools of an account.
const (
	toolSend        = "mail_send"
	toolReply       = "mail_reply"
	toolReplyAll    = "mail_reply_all"
	toolForward     = "mail_forward"
	toolDraftCreate = "mail_draft_create"
	toolDraftSend   = "mail_draft_send"
	toolDraftRead   = "mail_draft_read"
	toolList        = "mail_list"
	toolRead        = "mail_read"
	toolLookup      = "mail_lookup"
)

type definition struct {
	Name        string      `json:"name"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	InputSchema object      `json:"inputSchema"`
	Annotations annotations `json:"annotations"`
}

// annotations are the hints of MCP; all four are given.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

type object struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required,omitempty"`
	Additional bool                `json:"additionalProperties"`
}

type property struct {
	Type        string    `json:"type"`
	Description string    `json:"description,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	MinItems    int       `json:"minItems,omitempty"`
	MaxItems    int       `json:"maxItems,omitempty"`
	MaxLength   int       `json:"maxLength,omitempty"`
	Minimum     int       `json:"minimum,omitempty"`
	Maximum     int       `json:"maximum,omitempty"`
	Items       *property `json:"items,omitempty"`
	// Of an object.
	Properties map[string]property `json:"properties,omitempty"`
	Required   []string            `json:"required,omitempty"`
}

// Tools returns the MCP tools/list result of the account: the sending tools, and with IMAP those for replies, forwards and drafts.
func (a *Account) Tools(context.Context) ([]byte, error) {
	return json.Marshal(struct {
		Tools []definition `json:"tools"`
	}{a.definitions()})
}

func (a *Account) definitions() []definition {
	runs := a.runs()
	var served []definition
	for _, d := range allDefinitions(a.sender.text, a.options.MaxRecipients) {
		if _, has := runs[d.Name]; has {
			served = append(served, d)
		}
	}
	return served
}

func allDefinitions(account string, most int) []definition {
	sends := annotations{Destructive: true, OpenWorld: true}
	reads := annotations{ReadOnly: true, Idempotent: true}
	from := " The mail comes from " + account + ". Success means that the mail server accepted it for delivery, not that anybody got it."
	addresses := func(what string) property {
		return property{Type: "array", Description: what, MaxItems: most, Items: &property{Type: "string", MaxLength: 254}}
	}
	content := map[string]property{
		"text": {Type: "string", Description: "The text, without markup."},
		"html": {Type: "string", Description: "The same as HTML."},
		"attachments": {Type: "array", Description: "Files of the content store, by digest.", MaxItems: 50, Items: &property{
			Type: "object", Required: []string{"sha256", "name"}, Properties: map[string]property{
				"sha256": {Type: "string", Pattern: "^(sha256:)?[0-9a-f]{64}$", Description: "SHA-256 of the bytes."},
				"name":   {Type: "string", MaxLength: 200, Description: "File name shown to the recipients."},
				"type":   {Type: "string", Description: "Media type, such as application/pdf."},
			},
		}},
	}
	recipients := map[string]property{
		"to": addresses("Recipients, as name@domain."), "cc": addresses("Recipients of a copy."), "bcc": addresses("Recipients whom the others do not see."),
	}
	whole := map[string]property{
		"subject":  {Type: "string", MaxLength: maxSubject},
		"reply_to": {Type: "string", MaxLength: 254, Description: "Where replies go, if not to the account."},
	}
	named := map[string]property{
		"message_id": {Type: "string", Pattern: "^<.+>$", Description: "Message-ID of the original, from mail_list."},
		"revision":   {Type: "string", Pattern: "^sha256:[0-9a-f]{64}$", Description: "Revision of the original, from mail_read."},
	}
	clientID := map[string]property{"client_id": {Type: "string", Pattern: clientIDShape.String(), Description: "Name of this draft, made by the caller."}}
	draft := property{Type: "string", Pattern: clientIDShape.String(), Description: "The client_id that the draft was created with."}
	return []definition{
		{toolSend, "Send a mail", "Sends one mail." + from, schema([]string{"subject"}, recipients, whole, content), sends},
		{toolReply, "Reply to a mail", "Replies to whoever the original came from." + from, schema([]string{"message_id", "revision"}, named, content), sends},
		{toolReplyAll, "Reply to everybody", "Replies to the sender and all recipients of the original." + from, schema([]string{"message_id", "revision"}, named, content), sends},
		{toolForward, "Forward a mail", "Sends the original, whole, to others." + from, schema([]string{"message_id", "revision", "to"}, named, recipients, content), sends},
		{toolDraftCreate, "Keep a draft", "Keeps a mail in the drafts folder and sends nothing.", schema([]string{"client_id", "subject"}, clientID, recipients, whole, content), annotations{}},
		{toolDraftSend, "Send a draft", "Sends exactly the revision of the draft that is named; one that was edited since is not sent." + from,
			schema([]string{"draft", "revision"}, map[string]property{"draft": draft, "revision": {Type: "string", Pattern: "^sha256:[0-9a-f]{64}$", Description: "Revision of the draft, from mail_draft_create or mail_draft_read."}}), sends},
		{toolDraftRead, "Read a draft", "Shows a draft and its revision.", schema([]string{"draft"}, map[string]property{"draft": draft}), reads},
		{toolList, "List mails", "Lists the newest mails of a folder.", schema(nil, map[string]property{
			"folder": {Type: "string", Description: "One of the account's folders, by default its first."}, "limit": {Type: "integer", Minimum: 1, Maximum: 100},
		}), reads},
		{toolRead, "Read a mail", "Shows a mail and its revision.", schema([]string{"message_id"}, map[string]property{"message_id": named["message_id"]}), reads},
		{toolLookup, "Look for a sent mail", "Looks for the mails that carry an operation's marker.", schema([]string{"marker"}, map[string]property{
			"marker": {Type: "string", Pattern: markerShape.String()},
		}), reads},
	}
}

func schema(required []string, groups ...map[string]property) object {
	o := object{Type: "object", Properties: map[string]property{}, Required: required}
	for _, group := range groups {
		for name, p := range group {
			o.Properties[name] = p
		}
	}
	return o
}
