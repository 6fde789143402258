// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Remote is a Judge that asks a Controller in another process, behind
// Controller.Handler.
type Remote struct {
	// URL is where the handler is served.
	URL string
	// Client is the HTTP client; nil means one without kept connections.
	Client *http.Client
}

// Judge implements Judge.
func (r Remote) Judge(ctx context.Context, call Seen) (Mishap, error) {
	var decided struct {
		Mishap Mishap `json:"mishap"`
	}
	err := r.post(ctx, "/judge", call, &decided)
	return decided.Mishap, err
}

// Struck implements Judge. A controller that is gone has no use for the news.
func (r Remote) Struck(ctx context.Context, mishap Mishap) {
	_ = r.post(ctx, "/struck", map[string]Mishap{"mishap": mishap}, nil)
}

func (r Remote) post(ctx context.Context, path string, body, into any) error {
	payload, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("ask the fault controller: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+path, bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("ask the fault controller: %w", err)
	}
	client := r.Client
	if client == nil {
		client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the fault controller: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the fault controller: %s: %w", res.Status, err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// Handler serves the controller to pipes in other processes.
func (c *Controller) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /judge", func(w http.ResponseWriter, r *http.Request) {
		var call Seen
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mishap, err := c.Judge(r.Context(), call)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]Mishap{"mishap": mishap})
	})
	mux.HandleFunc("POST /struck", func(w http.ResponseWriter, r *http.Request) {
		var news struct {
			Mishap Mishap `json:"mishap"`
		}
		if err := json.NewDecoder(r.Body).Decode(&news); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.Struck(r.Context(), news.Mishap)
		_, _ = io.WriteString(w, "{}")
	})
	return mux
}
