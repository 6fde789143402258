// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/deed-run/deed"
)

// maxPages bounds how far one look-up reads on.
const maxPages = 100

// Probe is how a lost effect of a tool is looked up with another tool. It is
// safe for concurrent use.
type Probe struct {
	// Tool is the read-only tool that is called.
	Tool deed.Tool
	// Lag is the worst time after which the read shows an effect, GiveUp how long
	// look-ups go on before a person is asked.
	Lag    time.Duration
	GiveUp time.Duration
	// Inline lets a call that meets an uncertain operation wait for one look-up.
	Inline bool

	args   *template
	found  *expression
	id     *expression
	url    *expression
	token  *expression
	result *template
	next   *expression
	// cursor is the pointer to the argument that takes what next yields.
	cursor string
	// own are the marks that found compares with; none for the state of an
	// idempotent tool.
	own []string
}

// Arguments are those of the read: of the first page where cursor is nil.
func (p *Probe) Arguments(q deed.Inquest, cursor json.RawMessage) ([]byte, error) {
	arguments := []byte(`{}`)
	if p.args != nil {
		filled, err := p.args.fill(func(s spotted) (json.RawMessage, error) {
			if s.name == varArgs {
				return picked(q.Operation.Arguments, s)
			}
			text := markOf(q.Marks, s.name)
			if text == "" {
				return nil, fmt.Errorf("the operation carries no %s", s.name)
			}
			return quote(text), nil
		})
		if err != nil {
			return nil, fmt.Errorf("looking %s up: %w; nothing was asked", q.Operation.ID, err)
		}
		arguments = filled
	}
	if cursor == nil {
		return arguments, nil
	}
	return edited(arguments, p.cursor, func(json.RawMessage) (json.RawMessage, error) { return cursor, nil })
}

func markOf(marks deed.Marks, name string) string {
	switch name {
	case varMarker:
		return marks.Marker
	case varClientID:
		return marks.ClientID
	case varProviderKey:
		return marks.ProviderKey
	}
	return ""
}

// Matches lists what one page of the read holds of the operation. The token of
// a match is what was read from it: without a token expression the mark, if the
// object holds it anywhere.
func (p *Probe) Matches(q deed.Inquest, result []byte) ([]deed.Match, error) {
	variables, err := p.variables(q, result)
	if err != nil {
		return nil, err
	}
	value, err := p.found.decide(variables)
	if err != nil {
		return nil, fmt.Errorf("found: %w", err)
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("found yields a %s where a list must come out", value.Type().TypeName())
	}
	var matches []deed.Match
	for it := list.Iterator(); it.HasNext().Value() == true; {
		match, err := p.match(q, variables.exact, it.Next())
		if err != nil {
			return nil, err
		}
		matches = append(matches, match)
	}
	return matches, nil
}

func (p *Probe) variables(q deed.Inquest, result []byte) (v readings, err error) {
	if err := v.read(varResult, result); err != nil {
		return v, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if err := v.read(varArgs, q.Operation.Arguments); err != nil {
		return v, fmt.Errorf("the operation's arguments: %w", err)
	}
	for _, name := range markNames() {
		v.tell(name, markOf(q.Marks, name))
	}
	return v, nil
}

// match reads one object that was found.
func (p *Probe) match(q deed.Inquest, variables map[string]any, item ref.Val) (match deed.Match, err error) {
	variables[varItem] = item
	raw, err := jsonOf(item)
	if err != nil {
		return match, fmt.Errorf("an object that was found: %w", err)
	}
	read := func(name string, e *expression, into *string) {
		if e == nil || err != nil {
			return
		}
		var value ref.Val
		if value, err = e.eval(variables); err == nil {
			*into, err = textOf(value)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	read("id", p.id, &match.RemoteID)
	read("url", p.url, &match.URL)
	read("token", p.token, &match.Token)
	if err != nil {
		return match, err
	}
	switch {
	case p.token != nil:
	case len(p.own) == 0:
		match.Token = string(q.Operation.Fingerprint)
	default:
		for _, name := range p.own {
			if mark := markOf(q.Marks, name); mark != "" && strings.Contains(string(raw), mark) {
				match.Token = mark
			}
		}
	}
	if p.result != nil {
		match.Result, err = p.rebuilt(q, match, raw)
	}
	return match, err
}

// rebuilt is the result that stands for the lost one.
func (p *Probe) rebuilt(q deed.Inquest, match deed.Match, item json.RawMessage) ([]byte, error) {
	result, err := p.result.fill(func(s spotted) (json.RawMessage, error) {
		switch s.name {
		case "id":
			return quote(match.RemoteID), nil
		case "url":
			return quote(match.URL), nil
		case varArgs:
			return picked(q.Operation.Arguments, s)
		}
		return picked(item, s)
	})
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	structured, isStructured, err := pick(result, "/structuredContent")
	if err != nil {
		return nil, err
	}
	if _, spoken, err := pick(result, "/content"); err != nil || spoken || !isStructured {
		return result, err
	}
	// A result has content, which for a structured one is its text.
	return edited(result, "/content", func(json.RawMessage) (json.RawMessage, error) {
		return append(append([]byte(`[{"type":"text","text":`), quote(string(structured))...), `}]`...), nil
	})
}

// Next is what the read of the next page is given; more is false at the end.
func (p *Probe) Next(q deed.Inquest, result []byte) (cursor json.RawMessage, more bool, err error) {
	if p.next == nil {
		return nil, false, nil
	}
	variables, err := p.variables(q, result)
	if err != nil {
		return nil, false, err
	}
	value, err := p.next.eval(variables.exact)
	if err != nil {
		return nil, false, fmt.Errorf("pages.next: %w", err)
	}
	cursor, err = jsonOf(value)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("pages.next: %w", err)
	case slices.Contains([]string{"null", `""`, "false"}, string(cursor)):
		return nil, false, nil
	}
	return cursor, true, nil
}

// LookUp reads page after page and says what was found. read calls the tool
// and returns its result. An answer that cannot be read, a page that comes
// again and a list without end are errors: nothing is known then.
func (p *Probe) LookUp(ctx context.Context, q deed.Inquest, read func(ctx context.Context, tool deed.Tool, arguments []byte) ([]byte, error)) (deed.Verdict, error) {
	verdict := deed.Verdict{Kind: deed.VerdictUndetermined, Strategy: "tool:" + string(p.Tool)}
	var cursors []string
	var cursor json.RawMessage
	for page := 1; ; page++ {
		arguments, err := p.Arguments(q, cursor)
		if err != nil {
			return verdict, err
		}
		result, err := read(ctx, p.Tool, arguments)
		if err != nil {
			return verdict, err
		}
		matches, err := p.Matches(q, result)
		if err != nil {
			return verdict, fmt.Errorf("%s: page %d: %w", p.Tool, page, err)
		}
		verdict.Matches = append(verdict.Matches, matches...)
		next, more, err := p.Next(q, result)
		switch {
		case err != nil:
			return verdict, fmt.Errorf("%s: page %d: %w", p.Tool, page, err)
		case !more:
			verdict.Complete = true
			verdict.Kind = deed.VerdictAbsent
			if n := len(verdict.Matches); n > 0 {
				verdict.Kind = deed.VerdictFound
				if n > 1 {
					verdict.Kind = deed.VerdictMany
				}
			}
			verdict.Evidence = fmt.Sprintf("%s: %d found in %d pages", p.Tool, len(verdict.Matches), page)
			return verdict, nil
		case slices.Contains(cursors, string(next)):
			return verdict, fmt.Errorf("%s: page %d names a page that was read before", p.Tool, page)
		case page == maxPages:
			return verdict, fmt.Errorf("%s: there are more than %d pages", p.Tool, maxPages)
		}
		cursors = append(cursors, string(next))
		cursor = next
	}
}

// Resource reads back what an operation created.
type Resource struct {
	Get deed.Tool
	// ID is the pointer to the argument of Get that takes the id.
	ID string
}

// Arguments are those of the read for what a receipt names.
func (r *Resource) Arguments(receipt deed.Receipt) ([]byte, error) {
	if receipt.RemoteID == "" {
		return nil, errors.New("the receipt names no id that could be read back")
	}
	return edited([]byte(`{}`), r.ID, owned(receipt.RemoteID))
}

// Subject reads the version of what a call is about.
type Subject struct {
	Tool    deed.Tool
	args    *template
	pointer string
	value   *expression
}

// Arguments are those of the read, from those of the call.
func (s *Subject) Arguments(arguments []byte) ([]byte, error) {
	if s.args == nil {
		return []byte(`{}`), nil
	}
	return s.args.fill(func(at spotted) (json.RawMessage, error) { return picked(arguments, at) })
}

// Value is the version in the answer, as canonical JSON; an error when it has
// none.
func (s *Subject) Value(result []byte) (string, error) {
	if s.value == nil {
		value, found, err := pick(result, s.pointer)
		if err == nil && (!found || string(value) == "null") {
			err = errors.New("there is nothing at " + s.pointer)
		}
		return string(value), err
	}
	var v readings
	if err := v.read(varResult, result); err != nil {
		return "", err
	}
	value, err := s.value.eval(v.exact)
	if err != nil {
		return "", err
	}
	raw, err := jsonOf(value)
	if err == nil && string(raw) == "null" {
		err = errors.New("the answer has no version")
	}
	return string(raw), err
}
