// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

const (
	// maxSessions bounds the memory that logins take: the one unused for the
	// longest time ends when another begins.
	maxSessions = 1000
	// A session ends when it was not used for sessionIdle, and at sessionAge.
	sessionIdle = time.Hour
	sessionAge  = 12 * time.Hour
)

// session is one login of a person.
type session struct {
	who   deed.Principal
	name  string
	begun time.Time
	used  time.Time
}

// sessions are the logins of this process. A cookie carries a random id and
// its MAC; who it stands for stays here, so that logging out ends it.
type sessions struct {
	clock deed.Clock
	key   []byte
	mu    sync.Mutex
	open  map[string]*session
}

func newSessions(clock deed.Clock) *sessions {
	return &sessions{clock: clock, key: randomBytes(), open: map[string]*session{}}
}

func randomBytes() []byte {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails: see crypto/rand
	return raw
}

func randomText() string { return base64.RawURLEncoding.EncodeToString(randomBytes()) }

func (s *sessions) sign(id string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id))
	return id + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// begin opens a session and returns the cookie's value.
func (s *sessions) begin(who deed.Principal, name string) string {
	id, now := randomText(), s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.open) >= maxSessions {
		s.dropOldest()
	}
	s.open[id] = &session{who: who, name: name, begun: now, used: now}
	return s.sign(id)
}

func (s *sessions) dropOldest() {
	var oldest string
	for id, one := range s.open {
		if oldest == "" || one.used.Before(s.open[oldest].used) {
			oldest = id
		}
	}
	delete(s.open, oldest)
}

// find returns who a cookie's value stands for. Only what a person does is a
// use: a page that looks for news by itself keeps nobody logged in.
func (s *sessions) find(value string, use bool) (session, bool) {
	id, _, _ := strings.Cut(value, ".")
	if !hmac.Equal([]byte(value), []byte(s.sign(id))) {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, known := s.open[id]
	now := s.clock.Now()
	if !known {
		return session{}, false
	}
	if now.Sub(one.used) > sessionIdle || now.Sub(one.begun) > sessionAge {
		delete(s.open, id)
		return session{}, false
	}
	if use {
		one.used = now
	}
	return *one, true
}

// finish ends the session of a cookie's value.
func (s *sessions) finish(value string) {
	if _, known := s.find(value, false); !known {
		return
	}
	id, _, _ := strings.Cut(value, ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// cookieName is bound to host and path by the browser where TLS permits it
// (RFC 6265bis section 4.1.3.2).
func (c *Console) cookieName() string {
	if c.Secure {
		return "__Host-deed_session"
	}
	return "deed_session"
}

func (c *Console) cookie(name, value string, mode http.SameSite) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, Secure: c.Secure, SameSite: mode}
}

func (c *Console) present(r *http.Request) (session, bool) {
	byItself := r.Header.Get("Accept") == "text/event-stream" || r.Header.Get("HX-Request") == "true" && (r.URL.Path == "/" || r.URL.Path == "/flags")
	cookie, err := r.Cookie(c.cookieName())
	if err != nil {
		return session{}, false
	}
	return c.sessions.find(cookie.Value, !byItself)
}
