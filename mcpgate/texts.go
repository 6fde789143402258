// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// The sentences that deed adds to what a model reads of tools and servers.
const (
	sentenceTool = "Runs at most once per idempotency_key. If you repeat a call (timeout, lost answer, resumed work), send the same key and the same arguments. A new key is a second, separate action."
	sentenceKey  = "Name of this one action, 16-255 of A-Z a-z 0-9 _ . : - . Build it from facts of the task, e.g. refund:order-1042:first; never from the time, chance or a call counter. " +
		"Same action again = same key and same arguments. Changed content, or the user wants another one = new key. No personal data."
	sentenceInstructions = "Calls that change things are recorded. Before repeating an action, or when resuming someone's work, look at deed_operations. Never pick a new key to get past a message."
)

// wording is what a model is told of an answer, in at most 80 words that stand alone: frameworks strip isError, hide _meta and add nudges of
// their own. What is established comes first, then what to do.
type wording struct {
	// Text is the prose, Next the one thing to do in a word, Say what the user may be told.
	Text, Next, Say string
}

// Words that Next is one of.
const (
	nextReport      = "report"
	nextStop        = "stop"
	nextRetrySame   = "call_again_same_key"
	nextWait        = "wait"
	nextFix         = "fix_arguments"
	nextAddKey      = "add_key"
	nextCheck       = "check"
	nextAskUser     = "ask_user"
	nextAnswerInput = "answer_question"
)

// situation is what a text may mention: no stored arguments, no approval links, no raw markup.
type situation struct {
	surroundings
	answer  deed.Answer
	tool    string
	hasKey  bool   // the tool has a key property
	keyName string // what that property is called
	key     string
	sample  string // a key that would fit the call
	op      string // [op_...]
	id      string
	when    string
}

// surroundings are what a text may name beside the answer.
type surroundings struct {
	reads string // a read-only tool that may show the effect
	tells bool   // deed_operations is offered
	runs  bool   // what is approved runs by itself
}

// full is the tool's name with that of its server.
func (s situation) full() string {
	if s.answer.Rule.Tool != "" {
		return string(s.answer.Rule.Tool)
	}
	return s.tool
}

func situate(answer deed.Answer, d *described, around surroundings) situation {
	s := situation{answer: answer, tool: d.Name, hasKey: d.adds() || d.own != "", keyName: d.keyName(), surroundings: around, when: stamp(answer.At)}
	if op := answer.Operation; op != nil {
		s.op = fmt.Sprintf("[%s]", op.ID)
		s.id = string(op.ID)
		if op.Key.Family != deed.FamilySecret {
			s.key = op.Key.Text
		}
		s.when = stamp(op.CreatedAt)
		if a := op.Current(); a != nil {
			s.when = stamp(a.BegunAt)
		}
	}
	return s
}

// spoken puts the key that the model wrote in the place of a name that it never saw: of a record that goes by a call id, or that a person
// made by editing, the model's key is another name.
func (s *situation) spoken(d *described, params json.RawMessage) {
	op := s.answer.Operation
	if op == nil || op.Key.Provenance != deed.ProvenanceCallID && op.Key.Provenance != deed.ProvenanceNone {
		return
	}
	s.key = ""
	if key, ok := rawjson.Text(params, "arguments", d.keyName()); ok && s.hasKey && op.Key.Family != deed.FamilySecret {
		s.key = plain(key, 255)
	}
}

// stored says that the answer tells of an earlier attempt's end: this call sent nothing.
func (s situation) stored() bool {
	return s.answer.Decision == deed.Failed || s.answer.Decision == deed.Uncertain
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// remote names what was made, where it is known.
func (s situation) remote() string {
	if op := s.answer.Operation; op != nil && op.Receipt() != nil {
		if id := op.Receipt().RemoteID; id != "" {
			return plain(strings.Trim(id, "<>"), 60) // a Message-ID, which is no tag
		}
		return "no id known"
	}
	return "nothing proved"
}

func (s situation) settled() string {
	if op := s.answer.Operation; op != nil && !op.SettledAt.IsZero() {
		return stamp(op.SettledAt)
	}
	return s.when
}

// seconds is a pause in words of the texts, at least one.
func (s situation) seconds() string {
	n := int64((s.answer.RetryAfter + time.Second - 1) / time.Second)
	return fmt.Sprint(max(n, 1))
}

// roomForReasons is how much of a foreign text stands in a wording.
const roomForReasons = 140

// why is the upstream's or a person's own text, made harmless and short.
func (s situation) why() string {
	text := plain(s.answer.Text, roomForReasons)
	if text == "" && s.answer.Operation != nil {
		text = plain(s.answer.Operation.Message, roomForReasons)
	}
	if text == "" {
		return "no reason given"
	}
	return strings.TrimRight(text, ". ")
}

// roomForDigests leaves a text that compares two digests whole, within the 80 words of a wording.
const roomForDigests = 300

// because adds the reason that was given, if any.
func (s situation) because(limit int) string {
	if text := plain(s.answer.Text, limit); text != "" {
		return " (" + strings.TrimRight(text, ". ") + ")"
	}
	return ""
}

func (s situation) by() string {
	if op := s.answer.Operation; op != nil && op.DecidedBy != "" {
		return plain(strings.TrimPrefix(op.DecidedBy, deed.ByOperator), 40)
	}
	return "a person"
}

// newAction names the way to a separate action, without speaking of keys where the tool has none.
func (s situation) newAction(with, without string) string {
	if s.hasKey {
		return with
	}
	return without
}

var (
	foreignTags  = regexp.MustCompile(`<[^<>]*>`)
	foreignLinks = regexp.MustCompile(`\(?[A-Za-z][A-Za-z0-9+.-]*://[^\s)]*\)?`)
	// inward is how package net words where a connection failed. This gateway veils its own ([deed.Veiled]); tools say so of theirs, and
	// version 0.1.0 recorded it.
	inward = regexp.MustCompile(`(POST |GET )?\S+://\S+: |\b(dial|read|write) (tcp|udp|unix)[46]?( \S+)?: |\blookup \S+( on \S+)?: `)
)

// same names what a repeat must keep.
func (s situation) same() string {
	return s.newAction("the same key and the same arguments", "the same arguments")
}

// unsentHere closes the texts of denials behind which an earlier call may stand.
func (s situation) unsentHere() string {
	return "Nothing was sent by this call; an earlier call may exist" + s.newAction(", keep the key.", ".")
}

// plain makes foreign text harmless: one line, no markup, no invisible or turning characters, cut at a word.
func plain(text string, limit int) string {
	cleaned := foreignLinks.ReplaceAllString(foreignTags.ReplaceAllString(inward.ReplaceAllString(deed.Told(text), ""), " "), " ")
	cleaned = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case strings.ContainsRune("<>[]{}`|", r), unicode.Is(unicode.C, r), unicode.Is(unicode.Variation_Selector, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, cleaned)
	cleaned = strings.Join(strings.Fields(cleaned), " ")
	if len(cleaned) <= limit {
		return cleaned
	}
	cut := strings.LastIndexByte(cleaned[:limit], ' ')
	if cut < limit/2 {
		cut = limit
		for cut > 0 && cleaned[cut]&0xC0 == 0x80 {
			cut--
		}
	}
	return cleaned[:cut] + "..."
}

// sentences joins what is not empty.
func sentences(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}
