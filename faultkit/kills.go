// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/deed-run/deed/faultkit/caller"
	"github.com/deed-run/deed/faultkit/provider"
)

// KillReport counts what became of the operations of a campaign.
type KillReport struct {
	// Kills is how often the gateway was killed, Hits how many of the kills left
	// a call without an answer.
	Kills int `json:"kills"`
	Hits  int `json:"hits"`
	// Operations = Committed + Uncertain + Wrong.
	Operations int `json:"operations"`
	Committed  int `json:"committed"`
	Uncertain  int `json:"uncertain"`
	Wrong      int `json:"wrong"`
	// Duplicates took effect more than once. LostReceipts were answered as
	// committed and could not be had again. Both are among Wrong.
	Duplicates   int      `json:"duplicates"`
	LostReceipts int      `json:"lost_receipts"`
	Seed         uint64   `json:"seed,omitempty"`
	Problems     []string `json:"problems,omitempty"`
}

// Passed says whether every operation ended as promised.
func (r KillReport) Passed() bool { return r.Wrong == 0 && r.Operations > 0 }

// String is one line for people.
func (r KillReport) String() string {
	return fmt.Sprintf("%d kills (%d hit a call), %d operations: %d committed, %d uncertain, %d wrong; %d duplicate effects, %d lost receipts (seed %d)",
		r.Kills, r.Hits, r.Operations, r.Committed, r.Uncertain, r.Wrong, r.Duplicates, r.LostReceipts, r.Seed)
}

// KillOptions configure RandomKills.
type KillOptions struct {
	Options
	Kills int
	// InFlight is how many calls are at work when the kill comes; 0 means 4.
	InFlight int
	Seed     uint64
}

// tracked is one operation of a campaign.
type tracked struct {
	call    caller.Call
	op      string
	answers []Step
}

// campaign is a provider, a gateway on one ledger, and the operations so far.
type campaign struct {
	st   *stage
	ops  []*tracked
	last []*tracked // of the round before
	out  KillReport
}

// RandomKills kills the gateway at random moments while calls are in flight,
// restarts it on the same ledger and repeats every call under its key. It fails
// as vacuous when fewer than two kills hit a call.
func RandomKills(ctx context.Context, o KillOptions) (KillReport, error) {
	if o.Kills <= 0 {
		return KillReport{}, errors.New("random kills: no number of kills: nothing was started; set KillOptions.Kills")
	}
	if o.InFlight == 0 {
		o.InFlight = 4
	}
	c, clean, err := o.campaign(ctx, "random-kills")
	if err != nil {
		return KillReport{}, err
	}
	defer clean()
	c.out.Seed = o.Seed
	random := rand.New(rand.NewPCG(o.Seed, 0))
	if err := c.st.start(ctx); err != nil {
		return c.out, err
	}
	began := time.Now()
	c.round(ctx, o.InFlight)()
	// A gateway that is warm, or a machine that is less busy, answers sooner than
	// the first time: the span follows, so that about every other kill hits.
	span := 2 * time.Since(began)
	for range o.Kills {
		unanswered := c.round(ctx, o.InFlight)
		moment := time.NewTimer(time.Duration(random.Int64N(int64(span))))
		select {
		case <-moment.C:
		case <-ctx.Done():
			moment.Stop()
			return c.out, ctx.Err()
		}
		c.st.running.Kill()
		c.out.Kills++
		if unanswered() {
			c.out.Hits++
			span += span / 4
		} else {
			span -= span / 4
		}
		if err := c.st.start(ctx); err != nil {
			return c.out, err
		}
	}
	return c.conclude(ctx)
}

// campaign sets the stage with a patience that fits many short lives: a duplicate
// hears at once that the lease of a dead process still runs.
func (o Options) campaign(ctx context.Context, name string) (*campaign, func(), error) {
	o, clean, err := o.prepare()
	if err != nil {
		return nil, nil, err
	}
	o.defaults = map[string]any{"lease": "2s", "wait": "10ms"}
	st, err := o.stage(ctx, name)
	if err != nil {
		clean()
		return nil, nil, err
	}
	return &campaign{st: st}, func() {
		if st.running != nil {
			st.running.Kill()
		}
		_ = st.clear()
		clean()
	}, nil
}

// round repeats the calls of the round before and begins new ones. The returned
// function waits for all of them and says whether any got no answer.
func (c *campaign) round(ctx context.Context, n int) (unanswered func() bool) {
	again := c.last
	c.last = nil
	for range n {
		op := fmt.Sprintf("order-%06d", len(c.ops))
		t := &tracked{op: op, call: keyed("campaign:"+op, "pay.charge", fmt.Appendf(nil, `{"order_id":%q}`, op))}
		c.ops = append(c.ops, t)
		c.last = append(c.last, t)
	}
	var calls sync.WaitGroup
	session := c.st.running.Session
	for _, t := range append(append([]*tracked{}, again...), c.last...) {
		calls.Go(func() { t.answers = append(t.answers, send(ctx, session, t.call)) })
	}
	fresh := c.last
	return func() bool {
		calls.Wait()
		for _, t := range fresh {
			if t.answers[0].String() == "no answer" {
				return true
			}
		}
		return false
	}
}

// conclude asks for every operation once more, until it is settled, and judges.
func (c *campaign) conclude(ctx context.Context) (KillReport, error) {
	for _, t := range c.ops {
		t.answers = append(t.answers, settle(ctx, c.st.running, t.call)...)
	}
	if err := c.st.stop(); err != nil {
		return c.out, err
	}
	effects, err := c.st.fixture.Effects(ctx, provider.Selection{})
	if err != nil {
		return c.out, err
	}
	counted := map[string]int{}
	for _, e := range effects {
		counted[e.Op]++
	}
	for _, t := range c.ops {
		c.judge(t, counted[t.op])
	}
	if c.out.Hits < 2 {
		return c.out, fmt.Errorf("the campaign proves nothing: %d of %d kills hit a call, at least 2 are needed", c.out.Hits, c.out.Kills)
	}
	return c.out, nil
}

// judge compares what an operation was told with what happened.
func (c *campaign) judge(t *tracked, effects int) {
	c.out.Operations++
	var receipt []byte
	for _, a := range t.answers {
		if s := a.String(); receipt == nil && (s == committed || s == "replay") {
			receipt = a.Result.Operation.Receipt
		}
	}
	last := t.answers[len(t.answers)-1]
	wrong := func(format string, values ...any) {
		var steps []string
		for _, a := range t.answers {
			steps = append(steps, a.String())
		}
		c.out.Wrong++
		c.out.Problems = append(c.out.Problems, fmt.Sprintf("%s: %s [%s; %d effects]", t.op, fmt.Sprintf(format, values...), sequence(steps), effects))
	}
	switch {
	case effects > 1:
		c.out.Duplicates++
		wrong("took effect more than once")
	case receipt != nil && effects == 0:
		wrong("was told as done and never happened")
	case receipt != nil && (last.Result.Operation == nil || !bytes.Equal(last.Result.Operation.Receipt, receipt)):
		c.out.LostReceipts++
		wrong("its receipt cannot be had again")
	case last.matches(committed + "|replay"):
		c.out.Committed++
	case last.matches("uncertain"):
		c.out.Uncertain++
	default:
		wrong("is neither done nor uncertain: %s (%s)", last, last.Reason())
	}
}
