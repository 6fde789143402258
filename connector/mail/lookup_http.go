// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deed-run/deed/outcome"
)

// Bounds on one search.
const (
	httpLookupTimeout = 30 * time.Second
	maxSearchAnswer   = 4 << 20
)

type httpLookup struct {
	account *Account
	HTTPLookup
}

func newHTTPLookup(a *Account, o HTTPLookup) (Lookup, error) {
	if o.List == "" {
		o.List = "/messages"
		orDefault(&o.Count, "/messages_count")
	}
	orDefault(&o.MessageID, "/MessageID")
	orDefault(&o.ID, "/ID")
	if !strings.Contains(o.URL, "{message_id}") && !strings.Contains(o.URL, "{marker}") {
		return nil, errors.New("the URL of the search must hold {message_id} or {marker}, or it would find every mail")
	}
	parsed, err := url.Parse(strings.NewReplacer("{message_id}", "x", "{marker}", "x").Replace(o.URL))
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("%q is no http or https URL", outcome.Address{URL: o.URL, Written: o.Written})
	}
	for _, pointer := range []string{o.List, o.MessageID, o.ID} {
		if !strings.HasPrefix(pointer, "/") {
			return nil, fmt.Errorf("%q is no JSON pointer; it begins with a slash", pointer)
		}
	}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client = &client
	return httpLookup{a, o}, nil
}

func (httpLookup) Name() string { return "http" }

// Find takes only hits whose own Message-ID is exactly the one sought: searches match parts of words.
func (l httpLookup) Find(ctx context.Context, marker string, _ time.Time) (Finding, error) {
	if !markerShape.MatchString(marker) {
		return Finding{}, fmt.Errorf("marker %q is not of letters and digits", shorten(marker, 80))
	}
	id := strings.Trim(l.account.messageID(marker), "<>")
	sought := strings.NewReplacer("{message_id}", url.QueryEscape(id), "{marker}", url.QueryEscape(marker))
	address := outcome.Address{URL: sought.Replace(l.URL), Written: sought.Replace(l.Written)}
	answer, err := l.get(ctx, address.URL)
	if err != nil {
		return Finding{}, address.Hide(err)
	}
	hits, ok := listAt(answer, l.List)
	if !ok {
		return Finding{}, fmt.Errorf("the answer has no list at %s: %s", l.List, shorten(string(answer), 120))
	}
	var matches []Match
	for _, hit := range hits {
		if strings.Trim(outcome.Lookup(hit, l.MessageID), "<>") != id {
			continue
		}
		m := Match{Token: marker, ID: outcome.Lookup(hit, l.ID)}
		if l.Show != "" {
			m.URL = strings.ReplaceAll(l.Show, "{id}", url.PathEscape(m.ID))
		}
		matches = append(matches, m)
	}
	finding := Finding{Matches: named(matches, "<"+id+">"), Complete: true, Note: fmt.Sprintf("%d hits of the search", len(hits))}
	if l.Count != "" {
		if count := outcome.Lookup(answer, l.Count); count != fmt.Sprint(len(hits)) {
			finding.Complete = false
			finding.Note = fmt.Sprintf("%d hits were listed of %q", len(hits), shorten(count, 20))
		}
	}
	return finding, nil
}

// get reads one whole answer of JSON. An answer that is not 200, not JSON or too long is an error: it says nothing of the mail.
func (l httpLookup) get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, httpLookupTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range l.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := l.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the search answered HTTP %d", response.StatusCode)
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, fmt.Errorf("the search answered with %q instead of JSON", shorten(response.Header.Get("Content-Type"), 60))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxSearchAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the search's answer: %w", err)
	}
	if len(body) > maxSearchAnswer || !json.Valid(body) {
		return nil, errors.New("the search's answer is too long, or no JSON")
	}
	return body, nil
}

// listAt returns the elements of the list at a pointer (RFC 6901).
func listAt(document []byte, pointer string) ([]json.RawMessage, bool) {
	for segment := range strings.SplitSeq(pointer[1:], "/") {
		segment = strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
		var members map[string]json.RawMessage
		if json.Unmarshal(document, &members) != nil {
			return nil, false
		}
		document = members[segment]
	}
	var list []json.RawMessage
	if document = bytes.TrimSpace(document); len(document) == 0 || document[0] != '[' || json.Unmarshal(document, &list) != nil {
		return nil, false
	}
	return list, true
}
