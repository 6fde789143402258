// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// longDescription is the length from which on the sentence of a tool comes first: clients cut long descriptions at their end.
const longDescription = 800

// Tools extends the tools of a list that change things: the key argument, the sentence about it, and _meta["deed/tool"]. Everything else of
// the list keeps its bytes. The first page also offers deed_operations.
func (g *Gate) Tools(s *Session, result json.RawMessage) json.RawMessage {
	list, ok := rawjson.Get(result, "tools")
	if !ok {
		return result
	}
	own := false
	pins := readPins()
	defer pins.stop()
	edited, err := rawjson.EditElements(list, func(_ int, raw json.RawMessage) (json.RawMessage, error) {
		d := g.learn(s, raw, pins)
		if d == nil {
			return raw, nil
		}
		own = own || d.Name == operationsTool
		extended, err := extendTool(raw, d)
		if err != nil {
			g.log(fmt.Sprintf("tool %s/%s: its definition cannot be extended: %v", s.Upstream, d.Name, err))
			return raw, nil
		}
		return extended, nil
	})
	if err != nil {
		g.log(fmt.Sprintf("upstream %s: its tools/list is malformed: %v", s.Upstream, err))
		return result
	}
	if own {
		g.shadow.Store(s.Upstream, true)
		if !g.hideOperations {
			g.log(fmt.Sprintf("upstream %s has a tool %s of its own, which wins; deed's is left out", s.Upstream, operationsTool))
		}
	}
	next, more := rawjson.Get(result, "nextCursor")
	last := !more || string(next) == "null"
	if last {
		g.listed(s.Upstream, g.catalog.names(s.Upstream))
	}
	if last && g.offersOperations(s) {
		if with, err := rawjson.Append(edited, operationsDefinition()); err == nil {
			edited = with
		}
	}
	out, err := rawjson.Set(result, edited, "tools")
	if err != nil {
		return result
	}
	return out
}

func (g *Gate) offersOperations(s *Session) bool {
	_, shadowed := g.shadow.Load(s.Upstream)
	return !g.hideOperations && !shadowed
}

// extendTool edits one definition. Read-only tools keep theirs but for _meta.
func extendTool(raw json.RawMessage, d *described) (json.RawMessage, error) {
	var err error
	out := []byte(raw)
	if d.adds() {
		if out, err = addKeyArgument(out, d.rule.Key.Need == deed.NeedRequired || d.rule.Key.Need == ""); err != nil {
			return nil, err
		}
	}
	if d.adds() || d.own != "" && d.rule.Mutates() && d.rule.Key.Need != deed.NeedRuntime && len(d.rule.Key.From) == 0 && d.rule.Identity != deed.FamilySecret {
		sentence := strings.Replace(sentenceTool, keyArgument, d.keyName(), 1)
		description, _ := rawjson.Text(out, "description")
		switch {
		case description == "":
			description = sentence
		case utf8.RuneCountInString(description) > longDescription:
			description = sentence + "\n\n" + description
		default:
			description = strings.TrimRight(description, "\n ") + "\n\n" + sentence
		}
		if out, err = rawjson.Set(out, rawjson.Quote(description), "description"); err != nil {
			return nil, err
		}
	}
	about, err := json.Marshal(aboutTool(d.rule))
	if err != nil {
		return nil, err
	}
	return rawjson.Set(out, about, "_meta", metaTool)
}

func addKeyArgument(tool []byte, required bool) ([]byte, error) {
	property := fmt.Appendf(nil, `{"type":"string","minLength":16,"maxLength":255,"pattern":"^[A-Za-z0-9_.:-]{16,255}$","description":%s}`, rawjson.Quote(sentenceKey))
	out, err := rawjson.Set(tool, property, "inputSchema", "properties", keyArgument)
	if err != nil || !required {
		return out, err
	}
	list, ok := rawjson.Get(out, "inputSchema", "required")
	if !ok {
		list = json.RawMessage("[]")
	}
	if list, err = rawjson.Append(list, rawjson.Quote(keyArgument)); err != nil {
		return nil, err
	}
	return rawjson.Set(out, list, "inputSchema", "required")
}

// toolNote is _meta["deed/tool"].
type toolNote struct {
	Effect           deed.EffectClass `json:"effect"`
	Key              string           `json:"key"`
	Guarantee        string           `json:"guarantee"`
	Approval         bool             `json:"approval"`
	Reconcile        bool             `json:"reconcile"`
	RetentionSeconds int64            `json:"retention_seconds"`
}

func aboutTool(rule deed.Rule) toolNote {
	note := toolNote{
		Effect: rule.Effect, Key: string(rule.Key.Need), Approval: rule.NeedsApproval != nil || rule.Approval != nil, Reconcile: rule.GiveUp > 0,
		RetentionSeconds: int64(rule.Retention.Seconds()),
	}
	switch {
	case !rule.Mutates():
		note.Key, note.Guarantee = "none", "reads only"
	case rule.ProviderKey != nil:
		note.Guarantee = "the provider honours a key: at most once"
	case rule.Effect == deed.EffectIdempotent:
		note.Guarantee = "one end state, however often it is sent"
	case rule.GiveUp > 0:
		note.Guarantee = "can be probed: at most once, doubts are looked up"
	default:
		note.Guarantee = "at most once; doubts go to a person"
	}
	if len(rule.Key.From) > 0 {
		note.Key = "derived"
	}
	if note.Key == "" {
		note.Key = string(deed.NeedRequired)
	}
	return note
}

// Greeting adds the sentence about recorded calls to the server's instructions, once.
func (g *Gate) Greeting(s *Session, result json.RawMessage) json.RawMessage {
	if _, stateless := rawjson.Get(result, "supportedVersions"); stateless && g.runsApproved {
		// Calls that wait for a person are answered with tasks where the client takes them.
		if _, has := rawjson.Get(result, "capabilities", "extensions", tasksExtension); !has {
			if with, err := rawjson.Set(result, []byte("{}"), "capabilities", "extensions", tasksExtension); err == nil {
				result = with
			}
		}
	}
	if !g.offersOperations(s) {
		return result
	}
	instructions, _ := rawjson.Text(result, "instructions")
	if strings.Contains(instructions, sentenceInstructions) {
		return result
	}
	if instructions != "" {
		instructions = strings.TrimRight(instructions, "\n ") + "\n\n"
	}
	out, err := rawjson.Set(result, rawjson.Quote(instructions+sentenceInstructions), "instructions")
	if err != nil {
		return result
	}
	return out
}
