// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// EventObserved is the event of a call that was sent in observe mode although
// the operation stood in its way: once before it is sent, and again with what
// came of it. The operation stays where it stands, for no attempt of it was
// made; but while such a call may have had the effect, none is begun, see
// [Runtime.Approve], [Runtime.Resolve] and docs/tables.md.
const EventObserved EventName = "observed"

// beside is a call that observe mode sends beside the record that would have
// held it.
type beside struct {
	operation OperationID
	// call tells it from others beside the same record.
	call string
	// same: it is a call of that very operation, not of one with an equal effect
	// under a key of its own.
	same bool
	// noted: the record knows of it.
	noted bool
}

// besideData is what the history shows of one.
type besideData struct {
	Call string `json:"call"`
	// OtherKey: the call has a key of its own, so that it is another action with
	// an equal effect, and holds nothing up.
	OtherKey bool `json:"other_key,omitempty"`
	// Outcome is empty until something is known.
	Outcome  OutcomeKind `json:"outcome,omitempty"`
	RemoteID string      `json:"remote_id,omitempty"`
}

// observes reports whether the call runs whatever is decided about it.
func (c *claim) observes() bool {
	return c.rule.Mode == ModeObserve && c.rule.Mutates() && c.call.Resume == ""
}

// besideOf finds the records that a call runs beside, of those that may still be
// run: the one that its key names, else its twins.
func (c *claim) besideOf(r ruling, view View) []*beside {
	explicit := c.named.provenance.explicit()
	switch own := view.Operation; {
	case own != nil && c.equals(own):
		return c.runnable(true, own)
	case !explicit && len(view.Twins) > 0:
		return c.runnable(true, view.Twins...)
	case r.op != nil:
		return c.runnable(!r.twin || !explicit, r.op)
	}
	return nil
}

// besideTwins is besideOf for a call that is refused since it names no operation.
// Where the ledger cannot be read it is sent with nobody knowing, as every call is.
func (c *claim) besideTwins(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, besidePatience)
	defer cancel()
	scope := Scope{Tenant: c.call.Principal.Tenant, Tool: c.rule.Tool, FingerprintRules: c.ruled.rules, Fingerprints: c.allFingerprints()}
	view, err := c.rt.store.Load(ctx, scope)
	if err == nil && len(view.OtherRules) > 0 {
		if err = c.learnRules(ctx, view); err == nil {
			scope.Fingerprints = c.allFingerprints()
			view, err = c.rt.store.Load(ctx, scope)
		}
	}
	if err == nil {
		c.beside = c.besideOf(ruling{}, view)
	}
}

// equals reports whether the record is of the effect of this call, in the place
// where the call goes.
func (c *claim) equals(op *Operation) bool {
	fingerprint, known := c.fingerprints[op.FingerprintRules]
	return known && fingerprint == op.Fingerprint && op.UpstreamIdentity == c.call.Facts.UpstreamIdentity
}

// runnable picks the records that are equal to the call and of which something may
// still be sent.
func (c *claim) runnable(same bool, records ...*Operation) (list []*beside) {
	for _, op := range records {
		switch op.State() {
		case StateCommitted, StateDenied, StateCancelled:
			continue
		}
		if c.equals(op) {
			list = append(list, &beside{operation: op.ID, same: same})
		}
	}
	return list
}

// besidePatience bounds how long a call that only is observed waits for its notes.
const besidePatience = 2 * time.Second

// sends notes a call before it is sent. One that cannot be noted is sent too:
// observe mode holds nothing up.
func (rt *Runtime) sends(ctx context.Context, call Call, besides []*beside) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), besidePatience)
	defer cancel()
	for _, b := range besides {
		b.call = newNonce(rt.random)
		err := rt.noteBeside(ctx, call, b, besideData{})
		b.noted = err == nil
		if err != nil {
			rt.observer.Violated(ctx, string(b.operation)+": a call of it is sent in observe mode, which could not be noted: "+(&Veiled{Told: "the ledger cannot be reached", Err: err}).Error())
		}
	}
}

// came notes what became of it. A note that is lost leaves it open, and the
// operation held.
func (rt *Runtime) came(ctx context.Context, g *Grant, out Outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), besidePatience)
	defer cancel()
	out = out.Whole()
	data := besideData{Outcome: out.Kind, RemoteID: out.Receipt.RemoteID}
	for _, b := range g.beside {
		if err := rt.noteBeside(ctx, g.call, b, data); err != nil && !b.noted {
			rt.observer.Violated(ctx, string(b.operation)+": what became of a call of it in observe mode ("+string(out.Kind)+") could not be noted")
		}
	}
}

// noteBeside writes the event. The version rises, so that whoever is about to
// begin or to decide on what stood there before has to look again.
func (rt *Runtime) noteBeside(ctx context.Context, call Call, b *beside, data besideData) error {
	data.Call, data.OtherKey = b.call, !b.same
	doc, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return rt.write(ctx, Scope{Tenant: call.Principal.Tenant, ID: b.operation}, func(view View) (Change, error) {
		if view.Operation == nil {
			return Change{}, fmt.Errorf("%s: %w", b.operation, ErrNotFound)
		}
		next, event, err := apply(view.Operation, cause{event: EventUndetermined, at: view.Now, actor: call.Principal.Actor})
		if err != nil {
			return Change{}, err
		}
		event.Name, event.Attempt, event.Data = EventObserved, 0, doc
		return Change{Put: []*Operation{next}, Events: []Event{event}}, nil
	})
}

// besides says in words which calls of the operation, sent in observe mode, may
// have had its effect for all that is known; "" if none. A call is done with
// when it was refused or did not leave, and when a person has since said that
// nothing was applied.
func (rt *Runtime) besides(ctx context.Context, op *Operation) (string, error) {
	sent, err := rt.eventsOf(ctx, op, EventObserved)
	if err != nil || len(sent) == 0 {
		return "", err
	}
	judged, err := rt.eventsOf(ctx, op, EventResolvedNot)
	if err != nil {
		return "", err
	}
	var since int64
	for _, e := range judged {
		since = max(since, e.Version)
	}
	return besideText(sent, since), nil
}

func besideText(events []Event, since int64) string {
	type call struct {
		at    time.Time
		words string
		open  bool
	}
	calls := map[string]*call{}
	var order []*call
	for _, e := range events {
		var data besideData
		if json.Unmarshal(e.Data, &data) != nil || data.OtherKey {
			continue
		}
		known := calls[data.Call]
		if known == nil {
			known = &call{at: e.At}
			calls[data.Call], order = known, append(order, known)
		}
		known.open = e.Version > since && data.Outcome != OutcomeRefused && data.Outcome != OutcomeUnsent
		known.words = "what came of it is not known"
		if data.Outcome == OutcomeSuccess {
			known.words = "it was accepted"
			if data.RemoteID != "" {
				known.words += fmt.Sprintf(" (remote id %q)", data.RemoteID)
			}
		}
	}
	text, n := "", 0
	for _, c := range order {
		if c.open {
			n++
			text = fmt.Sprintf("a call of it was sent in observe mode at %s, and %s", stamp(c.at), c.words)
		}
	}
	if n > 1 {
		text = fmt.Sprintf("%d calls of it were sent in observe mode; of the latest: %s", n, text)
	}
	return text
}

// eventsOf reads the events of one name of an operation.
func (rt *Runtime) eventsOf(ctx context.Context, op *Operation, name EventName) ([]Event, error) {
	query := EventQuery{Tenant: op.Tenant, Operation: op.ID, Name: name, Limit: recoverPage}
	var all []Event
	for {
		page, err := rt.store.Events(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < recoverPage {
			return all, nil
		}
		query.After = page[len(page)-1].ID
	}
}

// besideRemedy says how an operation beside which a call was sent comes to its end.
func besideRemedy(op *Operation) string {
	switch op.Status {
	case StatusAwaitingApproval, StatusAuthorized:
		return "look at the provider; then cancel it, and do what is still wanted under another key"
	case StatusFailed:
		return "look at the provider; then resolve it as committed, or cancel it and do what is still wanted under another key"
	case StatusExpired:
		return "look at the provider, and do what is still wanted under another key"
	}
	return "look at the provider; then resolve it"
}

// ranBeside is what had run beside an operation when it had a version.
type ranBeside struct {
	operation OperationID
	version   int64
	text      string
}

// enough reports whether nothing that has run since would be news: it is about the
// operation as it is stored now, or holds it anyhow.
func (b ranBeside) enough(op *Operation) bool {
	return op == nil || b.operation == op.ID && (b.version == op.Version || b.text != "")
}

// holds reports whether the operation may not run for it. An idempotent tool only
// reaches its end state again.
func (b ranBeside) holds(op *Operation, effect EffectClass) bool {
	return b.text != "" && b.operation == op.ID && (op.Effect != EffectIdempotent || effect != EffectIdempotent)
}

// lookBeside learns what has run beside an operation that may begin.
func (rt *Runtime) lookBeside(ctx context.Context, op *Operation) (ranBeside, error) {
	if op == nil {
		return ranBeside{}, nil
	}
	text, err := rt.besides(ctx, op)
	return ranBeside{op.ID, op.Version, text}, err
}

// writer is write, for a decision that may depend on what ran beside the operation.
type writer func(ctx context.Context, scope Scope, change func(View, ranBeside) (Change, error)) error

// writeUnknowing is for a decision that lets nothing run.
func (rt *Runtime) writeUnknowing(ctx context.Context, scope Scope, change func(View, ranBeside) (Change, error)) error {
	return rt.write(ctx, scope, func(view View) (Change, error) { return change(view, ranBeside{}) })
}

// writeKnowing is for a decision that lets an operation run: it knows of all that
// was sent beside it until then.
func (rt *Runtime) writeKnowing(ctx context.Context, scope Scope, change func(View, ranBeside) (Change, error)) error {
	for range knowTries {
		known, err := rt.knowBeside(ctx, scope)
		if err != nil {
			return err
		}
		err = rt.write(ctx, scope, func(view View) (Change, error) {
			if !known.enough(view.Operation) {
				return Change{}, errLookAgain
			}
			return change(view, known)
		})
		if !errors.Is(err, errLookAgain) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: calls in observe mode go on beside it; nothing was changed, try again", scope.ID, ErrUnavailable)
}

// knowTries bounds how often a decision looks again at an operation beside which
// calls come and go.
const knowTries = 20

func (rt *Runtime) knowBeside(ctx context.Context, scope Scope) (ranBeside, error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	view, err := rt.store.Load(ctx, Scope{Tenant: scope.Tenant, ID: scope.ID})
	if err != nil {
		return ranBeside{}, err
	}
	return rt.lookBeside(ctx, view.Operation)
}
