// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/deed-run/deed"
)

const (
	// maxSessions bounds the room that logins take: the one unused for the
	// longest time ends when another begins.
	maxSessions = 1000
	// A session ends when it was not used for sessionIdle, and at sessionAge.
	sessionIdle = time.Hour
	sessionAge  = 12 * time.Hour
	// noteUseEvery is how exactly the last use is known: not every page that is
	// looked at writes to the ledger.
	noteUseEvery = time.Minute
	// sessionsValue is where the ledger keeps them.
	sessionsValue = "console/sessions"
)

// Settings keeps named values that every process on a ledger sees, as
// [deed.Store] does.
type Settings interface {
	Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error)
}

// session is one login of a person. It says how the person came in and not what
// they may do: that is asked of the configuration each time, so that a token
// or a role that is taken away ends it.
type session struct {
	// Token is the SHA-256 of a bearer token.
	Token string `json:"token,omitempty"`
	// Identity is what an identity provider said, State the login it said it in.
	Identity *identity `json:"identity,omitempty"`
	State    string    `json:"state,omitempty"`
	Begun    time.Time `json:"begun"`
	Used     time.Time `json:"used"`
}

func (s session) ended(now time.Time) bool {
	return now.Sub(s.Used) > sessionIdle || now.Sub(s.Begun) > sessionAge
}

// errLoginUsed: the login at the identity provider has led to a session before.
var errLoginUsed = errors.New("this login was used before")

// sessions are the logins of everybody. A cookie carries a random id; the
// ledger keeps its SHA-256, so that nobody becomes anybody by reading it, and
// every gateway on the ledger knows a session and its end.
type sessions struct {
	clock deed.Clock
	// kept is the ledger, nil to keep sessions in this process only.
	kept Settings
	mu   sync.Mutex
	// here are those that the ledger did not take.
	here map[string]session
}

func newSessions(clock deed.Clock, kept Settings) *sessions {
	return &sessions{clock: clock, kept: kept, here: map[string]session{}}
}

func randomText() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails: see crypto/rand
	return base64.RawURLEncoding.EncodeToString(raw)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// begin opens a session and returns the cookie's value. Where the ledger takes
// no writes it is a session at this process only: people need to look then.
func (s *sessions) begin(ctx context.Context, one session) (string, error) {
	value, now := randomText(), s.clock.Now()
	one.Begun, one.Used = now, now
	refused := false
	add := func(all map[string]session) bool {
		if refused = one.State != "" && someOf(all, func(o session) bool { return o.State == one.State }); refused {
			return false
		}
		for id, other := range all {
			if other.ended(now) {
				delete(all, id)
			}
		}
		for len(all) >= maxSessions {
			delete(all, oldest(all))
		}
		all[hashOf(value)] = one
		return true
	}
	err := s.change(ctx, add)
	if err != nil || s.kept == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		add(s.here)
	}
	if refused {
		return "", errLoginUsed
	}
	return value, nil
}

func someOf(all map[string]session, is func(session) bool) bool {
	for _, one := range all {
		if is(one) {
			return true
		}
	}
	return false
}

func oldest(all map[string]session) string {
	least := ""
	for id, one := range all {
		if least == "" || one.Used.Before(all[least].Used) {
			least = id
		}
	}
	return least
}

// change rewrites the ledger's sessions, unless do says that nothing changed.
// do may be called again.
func (s *sessions) change(ctx context.Context, do func(map[string]session) bool) error {
	if s.kept == nil {
		return nil
	}
	_, err := s.kept.Setting(ctx, sessionsValue, func(old []byte) []byte {
		all := read(old)
		if !do(all) {
			return nil
		}
		doc, _ := json.Marshal(all)
		return doc
	})
	return err
}

func read(doc []byte) map[string]session {
	all := map[string]session{}
	if json.Unmarshal(doc, &all) != nil || all == nil {
		return map[string]session{}
	}
	return all
}

// find returns the session of a cookie's value. Only what a person does is a
// use: a page that looks for news by itself keeps nobody logged in. An error
// says that the ledger could not be asked.
func (s *sessions) find(ctx context.Context, value string, use bool) (session, bool, error) {
	id, now := hashOf(value), s.clock.Now()
	s.mu.Lock()
	one, known := s.here[id]
	if known && use && !one.ended(now) {
		one.Used = now
		s.here[id] = one
	}
	s.mu.Unlock()
	if known || s.kept == nil {
		return one, known && !one.ended(now), nil
	}
	doc, err := s.kept.Setting(ctx, sessionsValue, nil)
	if err != nil {
		return session{}, false, err
	}
	if one, known = read(doc)[id]; !known || one.ended(now) {
		return session{}, false, nil
	}
	if use && now.Sub(one.Used) >= noteUseEvery {
		// That it could not be noted ends the session earlier, and nothing else.
		_ = s.change(ctx, func(all map[string]session) bool {
			again, still := all[id]
			again.Used = now
			if still {
				all[id] = again
			}
			return still
		})
	}
	return one, true, nil
}

// finish ends the session of a cookie's value, at every gateway on the ledger.
func (s *sessions) finish(ctx context.Context, value string) error {
	id := hashOf(value)
	s.mu.Lock()
	delete(s.here, id)
	s.mu.Unlock()
	return s.change(ctx, func(all map[string]session) bool {
		_, known := all[id]
		delete(all, id)
		return known
	})
}

// hostBound is the name of a cookie that the browser binds to host and path
// where TLS permits it (RFC 6265bis section 4.1.3.2).
func (c *Console) hostBound(name string) string {
	if c.Secure {
		return "__Host-" + name
	}
	return name
}

func (c *Console) cookieName() string { return c.hostBound("deed_session") }

func (c *Console) cookie(name, value string, mode http.SameSite) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, Secure: c.Secure, SameSite: mode}
}

// present returns who sends a request. An error says that nobody could be told
// from anybody.
func (c *Console) present(r *http.Request) (deed.Principal, bool, error) {
	byItself := r.Header.Get("Accept") == "text/event-stream" || r.Header.Get("HX-Request") == "true" && r.URL.Path == "/"
	cookie, err := r.Cookie(c.cookieName())
	if err != nil {
		return deed.Principal{}, false, nil
	}
	one, ok, err := c.sessions.find(r.Context(), cookie.Value, !byItself)
	if err != nil || !ok {
		return deed.Principal{}, false, err
	}
	who, ok := c.standing(one)
	return who, ok, nil
}

// standing says who a session stands for now.
func (c *Console) standing(one session) (deed.Principal, bool) {
	var who deed.Principal
	switch {
	case one.Identity != nil && c.OIDC != nil:
		var err error
		if who, err = c.OIDC.principal(*one.Identity); err != nil {
			return deed.Principal{}, false
		}
	case one.Token != "":
		var known bool
		if who, known = c.byHash(one.Token); !known {
			return deed.Principal{}, false
		}
	}
	return who, who.May(deed.RightRead)
}
