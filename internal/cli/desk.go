// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/daemon"
)

// desk is where a person looks at operations and decides about them: the
// ledger itself, or a running daemon.
type desk interface {
	List(ctx context.Context, query deed.Query) (deed.Page, error)
	// Waiting lists the uncertain operations that no look-up moves on.
	Waiting(ctx context.Context, query deed.Query) (deed.Page, error)
	Get(ctx context.Context, id deed.OperationID) (*deed.Operation, error)
	Events(ctx context.Context, id deed.OperationID) ([]deed.Event, error)
	Resolve(ctx context.Context, id deed.OperationID, res deed.Resolution) (*deed.Operation, error)
	Cancel(ctx context.Context, id deed.OperationID, reason string) (*deed.Operation, error)
	Reopen(ctx context.Context, id deed.OperationID, reason string) (*deed.Operation, error)
	Approve(ctx context.Context, id deed.OperationID, consent deed.Consent) (*deed.Operation, error)
	Deny(ctx context.Context, id deed.OperationID, consent deed.Consent) (*deed.Operation, error)
	EditAndApprove(ctx context.Context, id deed.OperationID, digest deed.Digest, arguments []byte, reason string) (*deed.Operation, error)
	Reconcile(ctx context.Context, id deed.OperationID) (lookedUp, error)
	Run(ctx context.Context, id deed.OperationID) (attempted, error)
	// ResolveMany decides about every operation of the query, or says what a
	// decision would do.
	ResolveMany(ctx context.Context, query deed.Query, res deed.Resolution, dry bool) ([]deed.Resolved, error)
	Budgets(ctx context.Context) ([]budgetLine, error)
	// Figures counts; decisions from since on.
	Figures(ctx context.Context, since time.Time) (figures, error)
	// Outlook is what is known beside the record about what may follow.
	Outlook(op *deed.Operation) outlook
	// Short says what an approved operation lacks in its budget, "" for nothing,
	// and where that is not known.
	Short(ctx context.Context, op *deed.Operation) string
	// Waits says of an operation that is not sent yet why, and what it costs, where
	// that is known.
	Waits(ctx context.Context, op *deed.Operation) waiting
	// Where says what it looks into.
	Where() string
	Now() time.Time
	Close() error
}

// outlook says what the record of an operation does not.
type outlook struct {
	// hears is until when the process that sent it may still report; decisions
	// before that need --force.
	hears time.Time
	// looks: its tool's entry says how it is looked up.
	looks bool
	// fence is the one that stands over the ledger, nil for none.
	fence *api.Fence
}

// desk opens the one that the flags name.
func (a *app) desk(ctx context.Context, at place) (desk, error) {
	if at.server != "" {
		return a.serverDesk(at)
	}
	core, who, err := a.operator(ctx, at)
	if err != nil {
		return nil, err
	}
	return &ledgerDesk{core: core, who: who, at: at}, nil
}

// leave closes a desk; its error counts only where there is no other.
func leave(d desk, err *error) {
	if closed := d.Close(); closed != nil && *err == nil {
		*err = closed
	}
}

// ledgerDesk works on the ledger itself, beside the gateways that use it.
type ledgerDesk struct {
	core *daemon.Core
	who  deed.Principal
	at   place
}

func (d *ledgerDesk) Where() string { return "in the ledger " + d.core.Place().String() }

func (d *ledgerDesk) Now() time.Time { return d.core.Clock.Now() }

func (d *ledgerDesk) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return d.core.Close(ctx)
}

func (d *ledgerDesk) List(ctx context.Context, query deed.Query) (deed.Page, error) {
	return d.merged(ctx, query, d.core.Runtime.List)
}

func (d *ledgerDesk) Waiting(ctx context.Context, query deed.Query) (deed.Page, error) {
	return d.merged(ctx, query, d.core.Runtime.Waiting)
}

// merged joins the newest operations of all tenants that the command covers, or of
// the one that the query names: ids are in the order of time, so one id parts the
// pages of each.
func (d *ledgerDesk) merged(ctx context.Context, query deed.Query, list func(context.Context, deed.Principal, deed.Query) (deed.Page, error)) (deed.Page, error) {
	all, err := everyone(ctx, d.at, d.core, d.who)
	if err != nil {
		return deed.Page{}, err
	}
	var merged deed.Page
	more := false
	for _, who := range all {
		if query.Tenant != "" && who.Tenant != query.Tenant {
			continue
		}
		page, err := list(ctx, who, query)
		if err != nil {
			return deed.Page{}, err
		}
		merged.Operations = append(merged.Operations, page.Operations...)
		more = more || page.Next != ""
	}
	slices.SortStableFunc(merged.Operations, func(a, b *deed.Operation) int { return strings.Compare(string(b.ID), string(a.ID)) })
	if query.Limit > 0 && len(merged.Operations) > query.Limit {
		merged.Operations, more = merged.Operations[:query.Limit], true
	}
	if more && len(merged.Operations) > 0 {
		merged.Next = merged.Operations[len(merged.Operations)-1].ID
	}
	return merged, nil
}

func (d *ledgerDesk) Get(ctx context.Context, id deed.OperationID) (*deed.Operation, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.Get(ctx, who, id)
}

func (d *ledgerDesk) Events(ctx context.Context, id deed.OperationID) ([]deed.Event, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.Events(ctx, who, id)
}

func (d *ledgerDesk) Resolve(ctx context.Context, id deed.OperationID, res deed.Resolution) (*deed.Operation, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.Resolve(ctx, who, id, res)
}

func (d *ledgerDesk) Cancel(ctx context.Context, id deed.OperationID, reason string) (*deed.Operation, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.Cancel(ctx, who, id, reason)
}

func (d *ledgerDesk) Reopen(ctx context.Context, id deed.OperationID, reason string) (*deed.Operation, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.Reopen(ctx, who, id, reason)
}

func (d *ledgerDesk) Approve(ctx context.Context, id deed.OperationID, consent deed.Consent) (*deed.Operation, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.Approve(ctx, who, id, consent)
}

func (d *ledgerDesk) Deny(ctx context.Context, id deed.OperationID, consent deed.Consent) (*deed.Operation, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.Deny(ctx, who, id, consent)
}

func (d *ledgerDesk) EditAndApprove(ctx context.Context, id deed.OperationID, digest deed.Digest, arguments []byte, reason string) (*deed.Operation, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return nil, err
	}
	return d.core.Runtime.EditAndApprove(ctx, who, id, digest, arguments, reason)
}

func (d *ledgerDesk) Reconcile(ctx context.Context, id deed.OperationID) (lookedUp, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return lookedUp{}, err
	}
	found, err := d.core.Runtime.Reconcile(ctx, who, id)
	if err != nil {
		return lookedUp{}, err
	}
	return findingOf(found), nil
}

func (d *ledgerDesk) Run(ctx context.Context, id deed.OperationID) (attempted, error) {
	who, err := owner(ctx, d.at, d.core, d.who, id)
	if err != nil {
		return attempted{}, err
	}
	op, err := d.core.Runtime.Get(ctx, who, id)
	if err != nil {
		return attempted{}, err
	}
	answer, err := d.core.RunStored(ctx, who, op)
	if err != nil {
		return attempted{}, err
	}
	return attempted{answer.Operation, answer.Decision, answer.Reason, answer.Text}, nil
}

func (d *ledgerDesk) ResolveMany(ctx context.Context, query deed.Query, res deed.Resolution, dry bool) ([]deed.Resolved, error) {
	all, err := everyone(ctx, d.at, d.core, d.who)
	if err != nil {
		return nil, err
	}
	var list []deed.Resolved
	for _, who := range all {
		some, err := d.core.Runtime.ResolveMany(ctx, who, query, res, dry)
		list = append(list, some...)
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// Budgets shows those of the configuration, in every tenant that the command
// covers.
func (d *ledgerDesk) Budgets(ctx context.Context) ([]budgetLine, error) {
	all, err := everyone(ctx, d.at, d.core, d.who)
	if err != nil {
		return nil, err
	}
	var list []budgetLine
	for _, who := range all {
		standing, err := d.core.Runtime.Budgets(ctx, who, d.core.Budgets())
		if err != nil {
			return nil, err
		}
		for _, b := range standing {
			list = append(list, budgetLine{
				Tenant: who.Tenant, Name: b.Budget.Name, Share: b.Share, Currency: b.Budget.Currency, Limit: b.Budget.Limit.String(),
				Held: b.Held.String(), Spent: b.Spent.String(), Left: b.Left.String(),
			})
		}
	}
	return list, nil
}

// Outlook implements desk: deed.Runtime.Resolve refuses until the moment that it
// names.
func (d *ledgerDesk) Outlook(op *deed.Operation) outlook {
	rule := d.core.Policy.Rule(op.Tool, deed.ToolFacts{})
	out := outlook{looks: rule.GiveUp > 0}
	if f := d.core.Standing(); f != nil {
		out.fence = &api.Fence{Since: f.Since, SetAt: f.SetAt}
	}
	if current := op.Current(); current != nil && current.EndedAt.IsZero() {
		out.hears = current.SendBy.Add(rule.Timeout)
	}
	return out
}

// Short implements desk.
func (d *ledgerDesk) Short(ctx context.Context, op *deed.Operation) string {
	if op.Status != deed.StatusAuthorized {
		return ""
	}
	who := d.who
	who.Tenant = op.Tenant
	why, short, err := d.core.Short(ctx, who, op)
	switch {
	case err != nil:
		return "whether its budget has room for it cannot be told: " + err.Error()
	case !short:
		return ""
	}
	return shortText(why, op, d.Now(), d.at)
}

// shortText says what an approved operation lacks in its budget.
func shortText(why deed.BudgetRefusal, op *deed.Operation, now time.Time, at place) string {
	text := "it is not sent until its budget has room: " + why.Text()
	if !op.DispatchBy.IsZero() {
		text += "; it lapses " + when(op.DispatchBy, now)
	}
	return text + "; " + at.command("budgets list") + " shows the budget"
}

// failedDecision says of an error what it means for the decision.
func (p place) failedDecision(err error, id string, now time.Time) error {
	var refused *deed.RefusedError
	var told *failure
	var damaged *deed.DamagedError
	switch {
	case errors.As(err, &told):
		return err
	case errors.As(err, &damaged):
		return p.settleDamaged(damaged, now)
	case errors.As(err, &refused) && strings.Contains(err.Error(), unchanged):
		return fmt.Errorf("%w; %s says what is allowed", err, p.command("ops show", id))
	case errors.As(err, &refused):
		return fmt.Errorf("%w; nothing was changed; %s says what is allowed", err, p.command("ops show", id))
	case errors.Is(err, deed.ErrNotFound):
		return p.lookElsewhere(err)
	case errors.Is(err, deed.ErrCommitUnknown):
		return fmt.Errorf("%w; the decision may be recorded or not; %s says which", err, p.command("ops show", id))
	case errors.Is(err, deed.ErrUnavailable), errors.Is(err, deed.ErrLedgerVersion):
		return err // it says that nothing was written
	}
	if strings.Contains(err.Error(), unchanged) {
		return err
	}
	return fmt.Errorf("%w; "+unchanged, err)
}

// unchanged is what an error about a decision says once.
const unchanged = "nothing was changed"
