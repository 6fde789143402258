// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/internal/notify"
)

// receiver keeps what it was told and answers with the codes it is given.
type receiver struct {
	mu     sync.Mutex
	codes  []int
	bodies []string
	signed []string
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, string(body))
	r.signed = append(r.signed, req.Header.Get(notify.SignatureHeader))
	answer := httptest.NewRecorder()
	code := http.StatusNoContent
	if len(r.codes) > 0 {
		code, r.codes = r.codes[0], r.codes[1:]
	}
	answer.WriteHeader(code)
	return answer.Result(), nil
}

func notice() notify.Notice {
	return notify.Notice{
		ID: "ev_1", Kind: notify.Approval, Operation: "op_1", Tenant: "acme", Tool: "pay/<refund>", Actor: "agent\n*@here*",
		Since: time.Unix(0, 0).UTC(), Held: "10.00 EUR", Console: "https://deed.example/approvals/op_1",
	}
}

func TestANoticeIsSignedAndSentAgainUntilItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{codes: []int{503, 429}}
		s := notify.New(notify.Options{Transport: to, Hooks: []notify.Hook{{URL: "http://hook.test/", Secret: "shared"}}})
		s.Tell(notice())
		time.Sleep(time.Minute)
		s.Close(t.Context())
		if len(to.bodies) != 3 || to.bodies[0] != to.bodies[2] {
			t.Fatalf("sent %q: want three equal notices", to.bodies)
		}
		var got notify.Notice
		if err := json.Unmarshal([]byte(to.bodies[2]), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(notice(), got); diff != "" {
			t.Error(diff)
		}
		seconds, _, _ := strings.Cut(strings.TrimPrefix(to.signed[0], "t="), ",")
		at, err := time.Parse("2006", "2000")
		if err != nil || seconds != "946684800" || to.signed[0] != notify.Sign("shared", at, []byte(to.bodies[0])) {
			t.Errorf("signed %q", to.signed[0])
		}
	})
}

func TestARefusedNoticeIsToldToTheLogOnce(t *testing.T) {
	to := &receiver{codes: []int{404}}
	var said []string
	s := notify.New(notify.Options{
		Transport: to, Log: func(text string) { said = append(said, text) },
		Hooks: []notify.Hook{{URL: "http://hook.test/secret-path"}, {URL: "http://other.test/", Kinds: []notify.Kind{notify.Unresolved}}},
	})
	s.Tell(notice())
	s.Close(t.Context())
	if len(to.bodies) != 1 || to.signed[0] != "" {
		t.Errorf("sent %q, signed %q: want one, unsigned", to.bodies, to.signed)
	}
	if len(said) != 1 || !strings.Contains(said[0], "HTTP 404") || strings.Contains(said[0], "secret-path") {
		t.Errorf("the log says %q", said)
	}
}

// absent is a receiver that cannot be reached.
type absent struct{}

func (absent) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func TestAReceiverThatIsNotThereIsToldToTheLogWithoutItsAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		s := notify.New(notify.Options{
			Transport: absent{}, Log: func(text string) { said = append(said, text) }, Hooks: []notify.Hook{{URL: "http://hook.test/secret-path"}},
		})
		s.Tell(notice())
		time.Sleep(time.Minute)
		s.Close(t.Context())
		if len(said) != 1 || !strings.Contains(said[0], "no answer came") || strings.Contains(said[0], "secret-path") {
			t.Errorf("the log says %q", said)
		}
	})
}

func TestSlackCannotBeMadeToSayOtherThings(t *testing.T) {
	to := &receiver{}
	s := notify.New(notify.Options{Transport: to, Hooks: []notify.Hook{{URL: "http://hook.test/", Format: notify.FormatSlack}}})
	s.Tell(notice())
	s.Close(t.Context())
	var got struct{ Text string }
	if err := json.Unmarshal([]byte(to.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	want := "pay/&lt;refund&gt; asked by agent *@here* waits for approval; 10.00 EUR held [op_1] <https://deed.example/approvals/op_1|look and decide>"
	if got.Text != want {
		t.Errorf("got  %s\nwant %s", got.Text, want)
	}
}
