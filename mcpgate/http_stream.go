// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// position is where a stream of events stands: its last event id, and how long to wait before it is taken up again.
type position struct {
	id    string
	retry time.Duration
}

func (p *position) see(block []byte) {
	for line := range bytes.Lines(block) {
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := field(line, "id"); ok {
			p.id = string(value)
		}
		if value, ok := field(line, "retry"); ok {
			if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
				p.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// maxResumes bounds how often one cut stream is taken up again.
const maxResumes = 20

// cut handles a stream that ended before its reply. In the session eras a stream with event ids can be taken up again by a GET with
// Last-Event-ID, which reads and repeats nothing; a client that reads the stream itself does that itself.
func (l *httpLink) cut(ctx context.Context, x *Exchange, status int, at position, cause error) Reply {
	r := Reply{Delivery: Sent, Status: status, Err: fmt.Errorf("%w: %w", ErrCut, l.remote.veil(cause))}
	resumable := at.id != "" && modernVersion(x.Message, x.Header) == ""
	if !resumable {
		return r
	}
	if x.Resumable {
		r.Resumable = true
		return r
	}
	for range maxResumes {
		pause := at.retry
		if pause <= 0 {
			pause = time.Second
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return r
		}
		done, ok := l.resume(ctx, x, &at)
		if ok {
			return done
		}
		if done.Err != nil {
			return r
		}
	}
	return r
}

// resume reads on until the reply. Without it, an Err means that it makes no sense to go on.
func (l *httpLink) resume(ctx context.Context, x *Exchange, at *position) (Reply, bool) {
	var reply Reply
	found := errors.New("found")
	err := l.read(ctx, x.Header, at.id, nil, func(e Event) error {
		at.see(e.Block)
		if m := e.Message; m.IsReply() && m.Key() == x.Message.Key() {
			reply = Reply{Delivery: Answered, Status: http.StatusOK, Message: m, Block: e.Block}
			return found
		}
		l.pass(x, e)
		return nil
	})
	switch {
	case errors.Is(err, found):
		return reply, true
	case errors.Is(err, io.EOF), errors.Is(err, ErrCut):
		return Reply{}, false
	}
	return Reply{Err: err}, false
}

// read opens the GET stream and reads it to its end, which is io.EOF or ErrCut.
func (l *httpLink) read(ctx context.Context, h http.Header, lastID string, head func(int, http.Header), event func(Event) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.remote.URL, nil)
	if err != nil {
		return l.remote.veil(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	l.headers(req, h, Message{})
	req.Header.Del(headerResume)
	if lastID != "" {
		req.Header.Set(headerResume, lastID)
	}
	resp, err := l.remote.Transport.RoundTrip(req)
	if err != nil {
		return l.remote.veil(err)
	}
	defer resp.Body.Close()
	if head != nil {
		head(resp.StatusCode, resp.Header)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return fmt.Errorf("GET: HTTP %s", resp.Status)
	}
	events := &sseReader{r: bufio.NewReaderSize(resp.Body, 16<<10), max: l.remote.MaxMessage}
	for {
		block, data, err := events.next()
		if err != nil {
			return err
		}
		e := Event{Block: block}
		if m, err := ParseMessage(data); err == nil && len(data) > 0 {
			e.Message = m
		}
		if err := event(e); err != nil {
			return err
		}
	}
}

// Stream reads the upstream's GET stream for a client that asked for it.
func (l *httpLink) Stream(ctx context.Context, h http.Header, head func(int, http.Header), event func(Event)) error {
	if !l.begin() {
		return ErrUpstreamClosed
	}
	defer l.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-l.ended.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return l.read(ctx, h, h.Get(headerResume), head, func(e Event) error {
		event(e)
		return nil
	})
}

// listen keeps the GET stream of a session open for a client on stdio, which has no way to ask for it.
func (l *httpLink) listen() {
	l.mu.Lock()
	start := l.sink != nil && !l.shared && !l.listening && !l.closed
	l.listening = l.listening || start
	if start {
		l.work.Add(1)
	}
	l.mu.Unlock()
	if !start {
		return
	}
	go func() {
		defer l.work.Done()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			<-l.ended.Done()
			cancel()
		}()
		at := position{}
		for {
			err := l.read(ctx, nil, at.id, nil, func(e Event) error {
				at.see(e.Block)
				if e.Message.Raw != nil {
					l.sink(e)
				}
				return nil
			})
			if !errors.Is(err, io.EOF) && !errors.Is(err, ErrCut) {
				return // the upstream offers no such stream, or the session is over
			}
			select {
			case <-time.After(max(at.retry, time.Second)):
			case <-l.ended.Done():
				return
			}
		}
	}()
}
