// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/connector/mail"
)

// verdict is the part of an outcome that decides what may happen next.
type verdict struct {
	Kind  deed.OutcomeKind
	Final bool
}

func of(o deed.Outcome) verdict { return verdict{o.Kind, o.Final} }

var (
	accepted  = verdict{Kind: deed.OutcomeSuccess}
	retryable = verdict{Kind: deed.OutcomeRefused}
	final     = verdict{Kind: deed.OutcomeRefused, Final: true}
	notSent   = verdict{Kind: deed.OutcomeUnsent}
	open      = verdict{Kind: deed.OutcomeUnknown}
)

func TestEveryStageAgainstEveryMishap(t *testing.T) {
	for _, c := range []struct {
		name, step string
		strike     strike
		code       int
		want       verdict
		mails      int
	}{
		{"nothing happens", "", pass, 0, accepted, 1},

		{"a greeting that turns away for now", "greeting", refuseHere, 421, retryable, 0},
		{"a greeting that turns the account away", "greeting", refuseHere, 554, retryable, 0},
		{"no greeting", "greeting", cutBefore, 0, notSent, 0},
		{"half a greeting", "greeting", halfReply, 0, notSent, 0},
		{"a greeting of another protocol", "greeting", nonsense, 0, notSent, 0},

		{"EHLO refused for now", "EHLO", refuseHere, 421, retryable, 0},
		{"EHLO refused", "EHLO", refuseHere, 550, retryable, 0},
		{"EHLO cut", "EHLO", cutAfter, 0, notSent, 0},

		{"AUTH refused for now", "AUTH", refuseHere, 454, retryable, 0},
		{"AUTH refused", "AUTH", refuseHere, 535, retryable, 0},
		{"AUTH cut", "AUTH", cutAfter, 0, notSent, 0},

		{"the sender refused for now", "MAIL", refuseHere, 451, retryable, 0},
		{"the sender refused", "MAIL", refuseHere, 553, final, 0},
		{"cut before MAIL", "MAIL", cutBefore, 0, notSent, 0},
		{"cut after MAIL", "MAIL", cutAfter, 0, notSent, 0},
		{"nonsense after MAIL", "MAIL", nonsense, 0, notSent, 0},

		{"the only recipient refused for now", "RCPT", refuseHere, 450, retryable, 0},
		{"the only recipient refused", "RCPT", refuseHere, 550, final, 0},
		{"closed at RCPT", "RCPT", refuseHere, 421, retryable, 0},
		{"cut after RCPT", "RCPT", cutAfter, 0, notSent, 0},
		{"half a reply to RCPT", "RCPT", halfReply, 0, notSent, 0},

		{"DATA refused for now", "DATA", refuseHere, 451, retryable, 0},
		{"DATA refused", "DATA", refuseHere, 554, final, 0},
		{"cut before DATA", "DATA", cutBefore, 0, notSent, 0},
		{"cut after DATA", "DATA", cutAfter, 0, notSent, 0},

		{"cut within the text", "text", cutBefore, 0, open, 0},

		{"refused for now after the dot", "dot", refuseHere, 452, retryable, 0},
		{"refused after the dot", "dot", refuseHere, 554, final, 0},
		{"the dot is lost", "dot", cutBefore, 0, open, 0},
		{"the reply to the dot is cut", "dot", cutAfter, 0, open, 1},
		{"half a reply to the dot", "dot", halfReply, 0, open, 1},
		{"nonsense after the dot", "dot", nonsense, 0, open, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := startPost(t, nil)
			between := startProxy(t, server.address, c.step, c.strike, c.code)
			a := account(t, between.address, func(o *mail.Options) { o.SMTP.Username, o.SMTP.Password = "agent", "secret" })
			out := call(t, t.Context(), a, "mail_send", plainMail())
			if diff := cmp.Diff(c.want, of(out)); diff != "" {
				t.Errorf("%s\n%s", diff, out.Message)
			}
			if got := len(server.accepted()); got != c.mails {
				t.Errorf("the server accepted %d mails and should have %d", got, c.mails)
			}
			if (out.Kind == deed.OutcomeRefused) != strings.HasPrefix(out.Message, "mail_rejected: ") {
				t.Errorf("%s is told as %q", out.Kind, out.Message)
			}
			if out.Kind == deed.OutcomeRefused && !out.Final && out.RetryAfter <= 0 {
				t.Error("a temporary refusal says nothing of when to try again")
			}
		})
	}
}

func TestAServerThatRefusesByItself(t *testing.T) {
	for _, c := range []struct {
		name, stage string
		code        int
		want        verdict
	}{
		{"MAIL, for now", "MAIL", 451, retryable}, {"MAIL", "MAIL", 550, final}, {"RCPT, for now", "RCPT", 450, retryable},
		{"RCPT", "RCPT", 550, final}, {"the dot, for now", "dot", 451, retryable}, {"the dot", "dot", 554, final},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := startPost(t, nil)
			server.refuse = func(stage, _ string) error {
				if stage == c.stage {
					return answer(c.code)
				}
				return nil
			}
			out := call(t, t.Context(), account(t, server.address, nil), "mail_send", plainMail())
			if diff := cmp.Diff(c.want, of(out)); diff != "" || len(server.accepted()) != 0 {
				t.Errorf("%s, %d mails accepted: %s", diff, len(server.accepted()), out.Message)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	server := startPost(t, nil)
	a := account(t, server.address, func(o *mail.Options) { o.SMTP.Port = 1 })
	if out := call(t, t.Context(), a, "mail_send", plainMail()); of(out) != notSent {
		t.Errorf("got %v: %s", of(out), out.Message)
	}
}

func TestTheCallEndsWhileTheServerIsSilent(t *testing.T) {
	for step, want := range map[string]verdict{"greeting": notSent, "EHLO": notSent, "MAIL": notSent, "RCPT": notSent, "DATA": notSent, "dot": open} {
		t.Run(step, func(t *testing.T) {
			server := startPost(t, nil)
			between := startProxy(t, server.address, step, silence, 0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			outcome := make(chan deed.Outcome)
			go func() { outcome <- call(t, ctx, account(t, between.address, nil), "mail_send", plainMail()) }()
			<-between.heard
			cancel()
			if out := <-outcome; of(out) != want {
				t.Errorf("got %v: %s", of(out), out.Message)
			}
		})
	}
}
