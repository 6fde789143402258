// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/server"
)

// strangersEvery is how often the log is told, at most, of tokens that nobody has.
const strangersEvery = time.Minute

// strangers tells the log of requests whose token nobody is known by: the first at
// once, then one line a minute at most.
type strangers struct {
	clock deed.Clock
	log   func(string)

	mu   sync.Mutex
	told time.Time
	more int
}

// over tells of what the Authenticator does not know. A request without a token is no
// stranger's: many a probe comes so.
func (s *strangers) over(known server.Authenticator) server.Authenticator {
	return func(r *http.Request) (deed.Principal, bool) {
		who, ok := known(r)
		if !ok && r.Header.Get("Authorization") != "" {
			s.refused(r)
		}
		return who, ok
	}
}

func (s *strangers) refused(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if !s.told.IsZero() && now.Sub(s.told) < strangersEvery && !now.Before(s.told) {
		s.more++
		return
	}
	since := ""
	if s.more > 0 {
		since = fmt.Sprintf("; %d more since %s", s.more, s.told.UTC().Format(time.RFC3339))
	}
	s.log(fmt.Sprintf("a token that is not known, or is no longer valid, was refused: %s %s from %s%s", r.Method, r.URL.EscapedPath(), r.RemoteAddr, since))
	s.told, s.more = now, 0
}
