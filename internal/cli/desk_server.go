// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
)

// serverDesk works through the API of a running daemon, as whoever the token
// belongs to.
type serverDesk struct {
	client *api.Client
	base   string
	at     place
	// short is what the answer to the latest approval said of its budget.
	short *api.Shortage
	// fence is what the latest operation under a fence said of it.
	fence *api.Fence
}

// record is the record that the daemon showed.
func (d *serverDesk) record(v api.Operation) *deed.Operation {
	if v.Fence != nil {
		d.fence = v.Fence
	}
	return operationOf(v)
}

// tokenVariable holds the bearer token for --server.
const tokenVariable = "DEED_TOKEN"

func (a *app) serverDesk(at place) (desk, error) {
	if at.ledger != "" || at.tenant != "" {
		return nil, fail(exitUsage, "--server goes without --ledger and --tenant: the daemon has its ledger, and the token its tenant; nothing was done; keep one of them")
	}
	token, err := a.tokenFor(at.server)
	if err != nil {
		return nil, err
	}
	client, err := api.New(api.Options{BaseURL: at.server, Token: token})
	if err != nil {
		return nil, fail(exitUsage, "--server %q is no address of a daemon; nothing was done; write http://host:port", at.server)
	}
	return &serverDesk{client: client, base: at.server, at: at}, nil
}

func (d *serverDesk) Where() string {
	return "that this token may see at " + d.base
}

// Waits implements desk: a gateway does not tell its rules.
func (d *serverDesk) Waits(context.Context, *deed.Operation) waiting { return waiting{} }

func (d *serverDesk) Now() time.Time { return time.Now() }
func (d *serverDesk) Close() error   { return nil }

// Outlook implements desk. The daemon itself refuses what comes too early, and
// does not tell its rules; a fence it told with what waits.
func (d *serverDesk) Outlook(*deed.Operation) outlook { return outlook{fence: d.fence} }

// Short implements desk. The daemon told it with the approval.
func (d *serverDesk) Short(_ context.Context, op *deed.Operation) string {
	if d.short == nil {
		return ""
	}
	why := deed.BudgetRefusal{Budget: d.short.Budget, Share: d.short.Share, Currency: d.short.Currency}
	for _, part := range []struct {
		amount *deed.Amount
		text   string
	}{{&why.Amount, d.short.Amount}, {&why.Left, d.short.Left}, {&why.Held, d.short.Held}} {
		var err error
		if *part.amount, err = deed.ParseAmount(part.text); err != nil {
			return "whether its budget has room for it cannot be told: " + err.Error()
		}
	}
	return shortText(why, op, d.Now(), d.at)
}

func (d *serverDesk) List(ctx context.Context, query deed.Query) (deed.Page, error) {
	return d.page(ctx, query, false)
}

func (d *serverDesk) Waiting(ctx context.Context, query deed.Query) (deed.Page, error) {
	return d.page(ctx, query, true)
}

func (d *serverDesk) page(ctx context.Context, query deed.Query, waiting bool) (deed.Page, error) {
	wanted := api.Query{
		Tool: query.Tool, Actor: query.Actor, Key: query.Key, Fingerprint: query.Fingerprint, Matter: query.Matter,
		Reason: query.Reason, Meta: query.Meta, NeedsPerson: waiting, Before: string(query.Before), Limit: query.Limit,
	}
	for _, s := range query.Statuses {
		wanted.Statuses = append(wanted.Statuses, deed.Filter(s))
	}
	page, err := d.client.Page(ctx, wanted)
	if err != nil {
		return deed.Page{}, d.explain(err)
	}
	list := deed.Page{Next: deed.OperationID(page.Next)}
	for _, op := range page.Operations {
		list.Operations = append(list.Operations, d.record(op))
	}
	return list, nil
}

func (d *serverDesk) Get(ctx context.Context, id deed.OperationID) (*deed.Operation, error) {
	return d.answered(d.client.Operation(ctx, id))
}

func (d *serverDesk) Events(ctx context.Context, id deed.OperationID) ([]deed.Event, error) {
	events, err := d.client.Events(ctx, id)
	if err != nil {
		return nil, d.explain(err)
	}
	list := make([]deed.Event, 0, len(events))
	for _, e := range events {
		list = append(list, deed.Event{
			ID: e.ID, OperationID: e.OperationID, Version: e.Version, At: e.At, Name: e.Name, Actor: e.Actor, Attempt: e.Attempt,
			From: e.From, To: e.To, Reason: e.Reason, Tool: e.Tool, Fingerprint: e.Fingerprint, Data: e.Data,
		})
	}
	return list, nil
}

func (d *serverDesk) Resolve(ctx context.Context, id deed.OperationID, res deed.Resolution) (*deed.Operation, error) {
	return d.answered(d.client.Resolve(ctx, id, api.ResolveRequest{
		Outcome: res.Outcome, RemoteIDs: res.RemoteIDs, Reason: res.Reason, Version: res.Version, Force: res.Force, NewProviderKey: res.NewProviderKey,
	}))
}

func (d *serverDesk) Cancel(ctx context.Context, id deed.OperationID, reason string) (*deed.Operation, error) {
	return d.answered(d.client.Cancel(ctx, id, reason))
}

func (d *serverDesk) Reopen(ctx context.Context, id deed.OperationID, reason string) (*deed.Operation, error) {
	return d.answered(d.client.Reopen(ctx, id, reason))
}

func (d *serverDesk) Approve(ctx context.Context, id deed.OperationID, consent deed.Consent) (*deed.Operation, error) {
	return d.approved(d.client.Approve(ctx, id, api.ApproveRequest{Digest: consent.Digest, Reason: consent.Reason}))
}

func (d *serverDesk) Deny(ctx context.Context, id deed.OperationID, consent deed.Consent) (*deed.Operation, error) {
	return d.answered(d.client.Deny(ctx, id, api.DenyRequest{Digest: consent.Digest, Reason: consent.Reason}))
}

func (d *serverDesk) EditAndApprove(ctx context.Context, id deed.OperationID, digest deed.Digest, arguments []byte, reason string) (*deed.Operation, error) {
	return d.approved(d.client.Approve(ctx, id, api.ApproveRequest{Digest: digest, Reason: reason, Arguments: arguments}))
}

func (d *serverDesk) approved(op api.Operation, err error) (*deed.Operation, error) {
	d.short = op.Short
	return d.answered(op, err)
}

func (d *serverDesk) Reconcile(ctx context.Context, id deed.OperationID) (lookedUp, error) {
	f, err := d.client.Reconcile(ctx, id)
	if err != nil {
		return lookedUp{}, d.explain(err)
	}
	return lookedUp{d.record(f.Operation), f.Verdict, f.Counted, f.Why, f.Strategy, f.Evidence, f.RemoteIDs, f.Stale}, nil
}

// Run implements desk. What the daemon answers as a problem is an answer here
// where an attempt was asked for.
func (d *serverDesk) Run(ctx context.Context, id deed.OperationID) (attempted, error) {
	answer, err := d.client.Run(ctx, id)
	verdict := answer.Verdict
	text := ""
	if problem, ok := api.AsProblem(err); ok && problem.Decision != "" {
		verdict, text, err = problem.Verdict, problem.Detail, nil
	}
	if err != nil {
		return attempted{}, d.explain(err)
	}
	out := attempted{decision: verdict.Decision, reason: verdict.Reason, text: text}
	if verdict.Operation != nil {
		out.op = d.record(*verdict.Operation)
	}
	return out, nil
}

// ResolveMany decides about one operation after the other.
func (d *serverDesk) ResolveMany(ctx context.Context, query deed.Query, res deed.Resolution, dry bool) ([]deed.Resolved, error) {
	var list []deed.Resolved
	for {
		page, err := d.List(ctx, query)
		if err != nil {
			return list, err
		}
		for _, op := range page.Operations {
			one := deed.Resolved{Operation: op}
			if !dry {
				if moved, err := d.Resolve(ctx, op.ID, res); err != nil {
					one.Err = err
				} else {
					one.Operation = moved
				}
			}
			list = append(list, one)
		}
		if query.Before = page.Next; query.Before == "" {
			return list, nil
		}
	}
}

func (d *serverDesk) Budgets(ctx context.Context) ([]budgetLine, error) {
	budgets, err := d.client.Budgets(ctx)
	if err != nil {
		return nil, d.explain(err)
	}
	var list []budgetLine
	for _, b := range budgets.Budgets {
		list = append(list, budgetLine{Name: b.Name, Share: b.Share, Currency: b.Currency, Limit: b.Limit, Held: b.Held, Spent: b.Spent, Left: b.Left})
	}
	return list, nil
}

// Figures are those that the daemon counts. Budgets take the right to read;
// without it no money is shown.
func (d *serverDesk) Figures(ctx context.Context, _ time.Time) (figures, error) {
	stats, err := d.client.Stats(ctx)
	if err != nil {
		return figures{}, d.explain(err)
	}
	f := figures{Statuses: stats.Statuses, AtLeast: stats.AtLeast, Money: []heldMoney{}}
	if o := stats.OldestUncertain; o != nil {
		f.Oldest = &oldest{o.OperationID, o.Since}
	}
	budgets, err := d.client.Budgets(ctx)
	if problem, answered := api.AsProblem(err); err != nil && (!answered || problem.Status != http.StatusForbidden) {
		return figures{}, d.explain(err)
	}
	for _, b := range budgets.Budgets {
		if amount, err := deed.ParseAmount(b.Held); err == nil && amount != 0 {
			f.Money = append(f.Money, heldMoney{Budget: b.Name, Share: b.Share, Currency: b.Currency, Held: b.Held})
		}
	}
	return f, nil
}

func (d *serverDesk) answered(op api.Operation, err error) (*deed.Operation, error) {
	if err != nil {
		return nil, d.explain(err)
	}
	return d.record(op), nil
}

// explain turns what the API says into what the commands know.
func (d *serverDesk) explain(err error) error {
	problem, answered := api.AsProblem(err)
	switch {
	case answered && problem.Status == http.StatusUnauthorized:
		return fail(exitUsage, "%s does not know the token; nothing was done; set %s, or run deed login --server %s", d.base, tokenVariable, shellWord(d.base))
	case errors.Is(err, api.ErrNotFound):
		return fmt.Errorf("%s: %s: %w", d.base, problem.Detail, deed.ErrNotFound)
	case answered && strings.HasSuffix(problem.Type, "#"+api.TypeDamaged) && problem.Operation != nil:
		return &deed.DamagedError{Operation: d.record(*problem.Operation)}
	case errors.Is(err, api.ErrRefused):
		if strings.Contains(problem.Detail, unchanged) {
			return fail(exitRefused, "%s", problem.Detail)
		}
		return fail(exitRefused, "%s; "+unchanged, problem.Detail)
	case answered && problem.Status == http.StatusForbidden:
		return fail(exitNotFound, "%s: %s", d.base, problem.Detail)
	case answered && problem.Status == http.StatusServiceUnavailable:
		return fail(exitUnavailable, "%s: %s", d.base, problem.Detail)
	case errors.Is(err, api.ErrNoAnswer):
		return fail(exitUnavailable, "%s: %w; look again before you decide anew", d.base, err)
	}
	return err
}
