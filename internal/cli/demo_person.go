// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
)

// personPatience is how long the demonstration waits for the person in front of
// it.
const personPatience = 10 * time.Minute

// demoPerson is the last part of the demonstration: a refund that waits for a
// person, who decides in the console or on the command line.
type demoPerson struct {
	binary, folder string
	// alone approves by itself, as the command line does: nobody is there to.
	alone bool

	fixture *faultkit.Fixture
	running *faultkit.Running
	address string
	said    demoNoise
}

// demoConsent is what the part came to.
type demoConsent struct {
	OperationID deed.OperationID `json:"operation_id"`
	Status      deed.Status      `json:"status"`
	ApprovedBy  string           `json:"approved_by,omitempty"`
	// Before and After are the provider's count before and after the decision.
	Before  demoCount `json:"before"`
	After   demoCount `json:"after"`
	Answers []string  `json:"answers"`
}

// play proposes a refund, waits until it is decided, and repeats the call.
func (p *demoPerson) play(ctx context.Context, a *app) (result demoConsent, err error) {
	if err := p.start(ctx); err != nil {
		return result, err
	}
	defer func() {
		if p.running != nil {
			err = errors.Join(err, p.running.Close())
		}
		err = errors.Join(err, p.fixture.Close())
	}()
	side := &demoSide{guarded: true, fixture: p.fixture, session: p.running}
	answer, proposal := side.ask(ctx, demoRefund())
	result.Answers = []string{answer}
	if answer != string(deed.StatusAwaitingApproval) {
		return result, fmt.Errorf("the refund should wait for a person and was answered %s", answer)
	}
	result.OperationID = deed.OperationID(proposal.Operation.ID)
	if result.Before, err = side.count(ctx, demoRefundOrder); err != nil {
		return result, err
	}
	op, err := p.decision(ctx, a, result.OperationID)
	if err != nil {
		return result, err
	}
	result.Status = op.Status
	if op.Approval != nil {
		for _, vote := range op.Approval.Votes {
			result.ApprovedBy = string(vote.Approver)
		}
	}
	for range 2 {
		result.Answers = append(result.Answers, side.send(ctx, demoRefund()))
	}
	result.After, err = side.count(ctx, demoRefundOrder)
	return result, err
}

const demoRefundOrder = "order-1047"

func demoRefund() caller.Call {
	return caller.Call{
		Tool: "pay.refund", Arguments: json.RawMessage(`{"order_id":"` + demoRefundOrder + `","amount":47}`),
		Meta: map[string]any{"deed/idempotency-key": "refund:" + demoRefundOrder + ":first"},
	}
}

// start starts a provider and "deed serve" in front of it.
func (p *demoPerson) start(ctx context.Context) error {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	p.fixture, err = faultkit.StartFixture(ctx, []string{p.binary, "fixture"}, filepath.Join(p.folder, "provider"))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(map[string]any{
		"ledger": "sqlite:ledger.db", "listen": p.address,
		"upstreams": map[string]any{"shop": map[string]any{"command": p.fixture.Upstream()}},
		"tools":     map[string]any{"shop/pay.refund": map[string]any{"effect": "non_idempotent", "approval": "required"}},
	}, "", "  ")
	if err == nil {
		err = os.WriteFile(p.config(), append(text, '\n'), 0o600)
	}
	if err == nil {
		p.running, err = faultkit.Gateway{
			Binary: p.binary, Config: p.config(), Upstream: "shop", Door: faultkit.HTTP, Address: p.address, Stderr: &p.said,
		}.Start(ctx)
	}
	if err != nil {
		return errors.Join(err, p.fixture.Close())
	}
	return nil
}

func (p *demoPerson) config() string { return filepath.Join(p.folder, "deed.yaml") }

// decision says how to approve, and returns the operation once it was decided and
// what was approved has run.
func (p *demoPerson) decision(ctx context.Context, a *app, id deed.OperationID) (op *deed.Operation, err error) {
	d, err := a.desk(ctx, place{config: p.config()})
	if err != nil {
		return nil, err
	}
	defer leave(d, &err)
	if op, err = d.Get(ctx, id); err != nil {
		return nil, err
	}
	command := "deed ops approve " + string(id) + " --digest " + string(op.Approval.Digest) + " --config " + shellWord(p.config())
	if !a.json {
		lines := []string{"", "A refund that needs a person. The agent was answered awaiting_approval, and nothing was sent."}
		if p.alone {
			// The gateway and its console are gone before anybody can follow a link.
			lines = append(lines, "The demonstration approves it by itself and ends. To decide yourself, in the console or on the command line: deed demo in a terminal, without --yes.")
		} else {
			lines = append(lines, "  look     http://"+p.address+"/op/"+string(id), "  approve  "+command,
				"  or there, signed in with "+p.said.token(), "Waiting for you, for "+personPatience.String()+" at most.")
		}
		if err := a.print(lines...); err != nil {
			return nil, err
		}
	}
	if p.alone {
		consent := deed.Consent{Digest: op.Approval.Digest, Reason: "the demonstration approves by itself"}
		if _, err := d.Approve(ctx, id, consent); err != nil {
			return nil, err
		}
	} else {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, personPatience)
		defer end()
	}
	return p.settled(ctx, d, id)
}

func (p *demoPerson) settled(ctx context.Context, d desk, id deed.OperationID) (*deed.Operation, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		op, err := d.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		switch op.Status {
		case deed.StatusAwaitingApproval, deed.StatusAuthorized, deed.StatusExecuting:
		default:
			return op, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("nobody decided about %s; nothing was sent; run the demonstration again, or with --yes: %w", id, ctx.Err())
		}
	}
}

// lines tells what the part came to.
func (r demoConsent) lines() []string {
	lines := []string{
		fmt.Sprintf("The provider's own ledger says: %d requests before the decision, %d after it; refunds made: %d.", r.Before.Requests, r.After.Requests, r.After.Effects),
	}
	if r.ApprovedBy != "" {
		lines = append(lines, "Approved by "+r.ApprovedBy+"; deed sent exactly what was shown. The agent's calls were answered: "+strings.Join(counted(r.Answers), ", "))
	} else {
		lines = append(lines, "It is "+string(r.Status)+". The agent's calls were answered: "+strings.Join(counted(r.Answers), ", "))
	}
	return lines
}

// demoNoise keeps what the gateway says.
type demoNoise struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *demoNoise) Write(data []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(data)
}

var signIn = regexp.MustCompile(`sign in with (\S+)`)

// token is what the gateway said that people sign in with.
func (n *demoNoise) token() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := signIn.FindSubmatch(n.text.Bytes()); m != nil {
		return string(m[1])
	}
	return "the token that the gateway printed"
}

// attended reports whether a person sits in front of this process.
func attended() bool {
	for _, file := range []*os.File{os.Stdin, os.Stdout} {
		info, err := file.Stat()
		if err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return false
		}
		if nothing, err := os.Stat(os.DevNull); err == nil && os.SameFile(nothing, info) {
			return false
		}
	}
	return true
}
