// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

// Format is how a hook is spoken to: in deed's own JSON, but where it is
// FormatSlack.
type Format string

// FormatSlack is an incoming webhook of Slack and of what imitates it.
const FormatSlack Format = "slack"

// Hook is one receiver.
type Hook struct {
	URL string
	// Secret signs what is sent; empty signs nothing.
	Secret string
	// Kinds are those that it is told; empty means all.
	Kinds  []Kind
	Format Format
}

// Options configure a Sender.
type Options struct {
	Hooks []Hook
	// Transport is http.DefaultTransport by default.
	Transport http.RoundTripper
	Clock     deed.Clock
	// Log takes one line when a notice cannot be delivered.
	Log func(text string)
}

// Sender delivers notices in the background. It is safe for concurrent use.
// Close it.
type Sender struct {
	hooks  []Hook
	client *http.Client
	clock  deed.Clock
	log    func(string)

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	room   chan struct{}
}

const (
	// most bounds the notices on their way; what comes beyond is told to the log.
	most = 256
	// tries is how often a notice is sent, and firstPause the time before the
	// second time, doubled each time after.
	tries      = 6
	firstPause = time.Second
	// patience bounds one delivery.
	patience = 10 * time.Second
)

// SignatureHeader carries "t=<seconds>,v1=<hex>": the HMAC-SHA256 under the
// hook's secret of the seconds, a full stop and the body.
const SignatureHeader = "Deed-Signature"

// New returns a Sender.
func New(o Options) *Sender {
	s := &Sender{hooks: o.Hooks, clock: o.Clock, log: o.Log, room: make(chan struct{}, most)}
	if s.clock == nil {
		s.clock = deed.SystemClock{}
	}
	if s.log == nil {
		s.log = func(string) {}
	}
	s.client = &http.Client{
		Transport: o.Transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Tell sends the notice to every hook that wants it, and does not wait.
func (s *Sender) Tell(n Notice) {
	for _, hook := range s.hooks {
		if len(hook.Kinds) > 0 && !slices.Contains(hook.Kinds, n.Kind) {
			continue
		}
		select {
		case s.room <- struct{}{}:
		default:
			s.log(fmt.Sprintf("webhook: %s of %s is not told, %d others are on their way; the console shows it", n.Kind, n.Operation, most))
			continue
		}
		s.work.Go(func() {
			defer func() { <-s.room }()
			if err := s.deliver(hook, n); err != nil {
				s.log(fmt.Sprintf("webhook: %s of %s was not delivered: %v; the console shows it", n.Kind, n.Operation, err))
			}
		})
	}
}

// Close gives notices under way until ctx ends.
func (s *Sender) Close(ctx context.Context) {
	done := make(chan struct{})
	go func() { s.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.cancel()
	<-done
}

// deliver sends a notice until it is taken. Repeats are harmless: they carry
// the same id and ask for nothing.
func (s *Sender) deliver(hook Hook, n Notice) error {
	body, err := n.body(hook.Format)
	if err != nil {
		return err
	}
	pause := firstPause
	for try := 1; ; try++ {
		again, err := s.send(hook, body)
		if err == nil || !again || try == tries {
			return err
		}
		select {
		case <-s.clock.After(pause):
			pause *= 2
		case <-s.ctx.Done():
			return errors.Join(err, s.ctx.Err())
		}
	}
}

// send posts once; again says whether a later time may do better.
func (s *Sender) send(hook Hook, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, hook.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("its address is none")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "deed")
	if hook.Secret != "" {
		req.Header.Set(SignatureHeader, Sign(hook.Secret, s.clock.Now(), body))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return true, errors.New("no answer came") // the error would show the address, which may hold a secret
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	switch {
	case resp.StatusCode < 300:
		return false, nil
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout:
		return true, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return false, fmt.Errorf("HTTP %d", resp.StatusCode)
}

// Sign is the value of [SignatureHeader] for a body sent at a time.
func Sign(secret string, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
