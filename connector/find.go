// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/outcome"
)

// Found is one thing that a look-up found.
type Found struct {
	ID  string `json:"id"`
	URL string `json:"url,omitempty"`
	// Token is the mark that it carries.
	Token string `json:"token,omitempty"`
	// Item is the thing as the provider lists it, empty where it has no body.
	Item json.RawMessage `json:"item,omitempty"`
}

// Findings are what a look-up saw. Without an error all pages were read; whether "nothing found" proves anything is for the caller to judge, by
// the time and by Consistency and Lag.
type Findings struct {
	Matches     []Found
	Pages       int
	Consistency Consistency
	// Lag is the worst time after which the read shows an effect; 0 of a strong one.
	Lag time.Duration
}

// Look runs a look-up: it only reads. arguments is a JSON object, such as {"marker": "..."}; [Connector.Lookups] tells which members it uses. An
// error means that nothing is known: the provider could not be asked, answered with an error, or has more pages than are read.
func (c *Connector) Look(ctx context.Context, name string, args []byte) (Findings, error) {
	l := c.lookup(name)
	if l == nil {
		return Findings{}, fmt.Errorf("there is no look-up %s", name)
	}
	return c.look(ctx, l, args)
}

func (c *Connector) look(ctx context.Context, l *lookup, args []byte) (Findings, error) {
	limit := l.timeout
	if limit == 0 {
		limit = c.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	findings := Findings{Consistency: l.consistency, Lag: l.lag}
	b, err := l.request.build(args, "")
	if err != nil {
		return findings, fmt.Errorf("look-up %s: %w", l.name, err)
	}
	seen := map[string]bool{}
	for page := l.pages.first; ; page++ {
		if l.pages.number {
			b.target = withParameter(b.target, l.pages.param, strconv.Itoa(page))
		}
		if seen[b.target] {
			return findings, fmt.Errorf("look-up %s: the provider lists the same page again", l.name)
		}
		seen[b.target] = true
		got, lost := c.exchange(ctx, &outcome.Trace{}, b)
		if lost != nil {
			return findings, fmt.Errorf("look-up %s: %s", l.name, lost.Message)
		}
		findings.Pages++
		if findings.Pages == 1 && slices.ContainsFunc(l.notFound, func(c rule) bool { return c.fits(got) }) {
			return findings, nil
		}
		if !isSuccess(got.status) {
			return findings, fmt.Errorf("look-up %s: HTTP %d: %s", l.name, got.status, abridged(got.body))
		}
		count, err := l.collect(got, args, &findings)
		if err != nil {
			return findings, fmt.Errorf("look-up %s: %w", l.name, err)
		}
		next, err := l.next(c.base, b.target, got, count)
		switch {
		case err != nil:
			return findings, fmt.Errorf("look-up %s: %w", l.name, err)
		case next == "":
			return findings, nil
		case findings.Pages >= max(l.pages.max, 1):
			return findings, fmt.Errorf("look-up %s: there are more than %d pages: narrow the look-up, or raise pages.max", l.name, l.pages.max)
		}
		b.target = next
	}
}

// collect takes the matches of one page and counts its items.
func (l *lookup) collect(a answer, args arguments, findings *Findings) (int, error) {
	if pointer := errorsAt(a, l.errors); pointer != "" {
		return 0, errors.New("the answer tells of errors at " + pointer)
	}
	var elements []json.RawMessage
	if l.items == "" {
		elements = append(elements, a.body)
	} else {
		at := l.items
		if at == wholeAnswer {
			at = ""
		}
		raw, found, err := arguments(a.body).pick(at)
		if !a.json || err != nil || !found || json.Unmarshal(raw, &elements) != nil {
			return 0, errors.New("the answer holds no list at " + l.items)
		}
	}
	for _, element := range elements {
		item := answer{status: a.status, header: a.header, body: element, json: json.Valid(element)}
		found := Found{ID: l.id.of(item, args), URL: l.url.of(item, args)}
		if found.ID == "" && l.items == "" {
			return 0, errors.New("the answer holds no id: it is not what was asked for")
		}
		token, ok, err := l.match.of(item, args)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		if found.Token = token; item.json {
			found.Item = element
		}
		if found.ID == "" {
			return 0, errors.New("a match has no id")
		}
		findings.Matches = append(findings.Matches, found)
	}
	return len(elements), nil
}

// of tells whether an item is a match; without a declared match every item is.
func (m match) of(a answer, args arguments) (token string, ok bool, err error) {
	switch {
	case m.header != "":
		token = a.header.Get(m.header)
	case m.token != "":
		token, _ = scalarAt(a.body, m.token)
	default:
		return "", true, nil
	}
	for _, wanted := range []*template{m.equals, m.contains} {
		if wanted == nil {
			continue
		}
		text, err := wanted.expand(args, nil)
		if err != nil {
			return "", false, err
		}
		if text == "" {
			return "", false, errors.New("what is sought is empty, and everything would match it")
		}
		return text, token == text || wanted == m.contains && strings.Contains(token, text), nil
	}
	return "", false, nil
}

// next is the target of the next page, "" when there is none.
func (l *lookup) next(base *url.URL, target string, a answer, count int) (string, error) {
	switch p := l.pages; {
	case p.link:
		return nextLink(base, a)
	case p.number:
		if count == 0 {
			return "", nil
		}
		return target, nil
	case p.from != "":
		if p.more != "" {
			if text, _ := scalarAt(a.body, p.more); text != "true" {
				return "", nil
			}
		}
		cursor, err := cursorAt(a.body, p.from)
		if err != nil || cursor == "" {
			if p.more != "" {
				return "", errors.New("there is more, and no cursor at " + p.from)
			}
			return "", err
		}
		return withParameter(target, p.param, cursor), nil
	}
	return "", nil
}

// cursorAt follows a pointer whose segment "-1" is the last element of a list.
func cursorAt(doc []byte, pointer string) (string, error) {
	before, after, last := strings.Cut(pointer, "/-1")
	if !last {
		text, _ := scalarAt(doc, pointer)
		return text, nil
	}
	raw, found, err := arguments(doc).pick(before)
	var list []json.RawMessage
	if err != nil || !found || json.Unmarshal(raw, &list) != nil {
		return "", errors.New("there is no list at " + before)
	}
	if len(list) == 0 {
		return "", nil
	}
	text, _ := scalarAt(list[len(list)-1], after)
	if after == "" {
		text, _ = plainText(list[len(list)-1])
	}
	return text, nil
}

func withParameter(target, name, value string) string {
	path, query, _ := strings.Cut(target, "?")
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" && !strings.HasPrefix(pair, formName(name)+"=") {
			kept = append(kept, pair)
		}
	}
	return path + "?" + strings.Join(append(kept, formName(name)+"="+url.QueryEscape(value)), "&")
}

// nextLink follows rel="next" within the same API only: another origin would be sent our credentials.
func nextLink(base *url.URL, a answer) (string, error) {
	for _, line := range a.header.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			address, parameters, ok := strings.Cut(link, ">")
			if !ok || !strings.Contains(strings.ReplaceAll(parameters, " ", ""), `rel="next"`) {
				continue
			}
			to, err := base.Parse(strings.TrimPrefix(strings.TrimSpace(address), "<"))
			if err != nil || to.Scheme != base.Scheme || to.Host != base.Host || !strings.HasPrefix(to.EscapedPath(), base.EscapedPath()) {
				return "", errors.New("the next page is at another address, which is not asked")
			}
			target := strings.TrimPrefix(to.EscapedPath(), base.EscapedPath())
			if to.RawQuery != "" {
				target += "?" + to.RawQuery
			}
			return target, nil
		}
	}
	return "", nil
}

// read serves a look-up as a tool: the matches as structured content, an error result where they are not known.
func (c *Connector) read(ctx context.Context, l *lookup, args []byte) deed.Outcome {
	findings, err := c.look(ctx, l, args)
	if err != nil {
		return deed.Outcome{
			Kind: deed.OutcomeUnknown, Reason: deed.ReasonToolError, Message: err.Error(),
			Result: result(err.Error(), nil, true), ResultIsError: true,
		}
	}
	structured, err := json.Marshal(map[string]any{
		"items": append([]Found{}, findings.Matches...), "complete": true, "pages": findings.Pages, "consistency": findings.Consistency,
	})
	if err != nil {
		return refused(err, "the findings cannot be shown")
	}
	return deed.Outcome{Kind: deed.OutcomeSuccess, Result: result(string(bytes.TrimSpace(structured)), structured, false)}
}
