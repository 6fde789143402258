// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/daemon"
	"github.com/deed-run/deed/outcome"
	"github.com/deed-run/deed/policy"
)

// lesson is a failed: rule that is taught to a tool.
type lesson struct {
	tool  deed.Tool
	text  string
	final bool
	dry   bool
	// pattern is text, compiled.
	pattern *regexp.Regexp
}

func (l lesson) reason() string {
	return fmt.Sprintf("by the rule failed: text %s of %s (deed tools teach): the tool's answer means that nothing was changed", jsonText(l.text), l.tool)
}

func (a *app) toolsTeachCommand() *cobra.Command {
	var at place
	var l lesson
	c := &cobra.Command{
		Use: "teach UPSTREAM/TOOL --text REGEXP", Short: "Say that an error text means that nothing was changed, in the file and of past calls", Args: cobra.ExactArgs(1),
		Long: `Adds the rule failed: to the tool's entry in the file named by --config, and
settles past calls that are uncertain only because the tool answered such an error:
as not applied, by that rule, in their history. Nothing else is settled, and nothing
is sent. Only a text that always means that nothing was changed may be taught: what
is taught permits another attempt. The file keeps every other byte, and a copy.

--dry-run shows the change and the calls, and writes nothing. The pattern is a RE2
expression over the whole text; begin it with ^, since a text that merely mentions
an error proves nothing. --final says that the same call would be refused again.`,
		Example: "  deed tools teach tickets/create_ticket --text '^invalid project' --config deed.yaml --dry-run",
		RunE: action(func(ctx context.Context, args []string) error {
			l.tool = deed.Tool(args[0])
			if err := l.check(at); err != nil {
				return err
			}
			return a.teach(ctx, at, l)
		}),
	}
	at.tenantFlags(c)
	c.Flags().StringVar(&l.text, "text", "", "the error texts, as a regular `expression`")
	c.Flags().BoolVar(&l.final, "final", false, "the same call is refused again")
	c.Flags().BoolVar(&l.dry, "dry-run", false, "show what would be written and settled, and write nothing")
	_ = c.MarkFlagRequired("text")
	_ = c.MarkFlagRequired("config")
	return c
}

// check compiles the pattern and refuses what would teach too much.
func (l *lesson) check(at place) error {
	if l.tool.Upstream() == "" || l.tool.Name() == "" {
		return fail(exitUsage, "%q names no upstream; nothing was done; write UPSTREAM/TOOL, as deed ops list and deed tools show it", string(l.tool))
	}
	var err error
	if l.pattern, err = regexp.Compile(l.text); err != nil {
		return fail(exitUsage, "--text: %w; nothing was done; write an RE2 expression", err)
	}
	if l.pattern.MatchString("") {
		return fail(exitUsage, "--text %s fits an empty text, and so every error; nothing was done; write what only this error says", jsonText(l.text))
	}
	return nil
}

func (a *app) teach(ctx context.Context, at place, l lesson) (err error) {
	config, err := a.rules(at.config, policy.BareOptions{})
	if err != nil {
		return err
	}
	change, err := a.planRule(config, l)
	if err != nil {
		return err
	}
	core, who, err := a.operator(ctx, at)
	noLedger := l.dry && errors.Is(err, deed.ErrUnavailable)
	if err != nil && !noLedger {
		return fmt.Errorf("%w; %s was not changed", err, at.config)
	}
	var past []pastError
	if !noLedger {
		defer a.closing(core, &err)
		if past, err = pastErrors(ctx, core, at, who, l); err != nil {
			return err
		}
	}
	if !l.dry && !change.there {
		if change.backup, err = change.write(); err != nil {
			return err
		}
	}
	if !l.dry {
		for i := range past {
			past[i].settle(ctx, core, l)
		}
	}
	if a.json {
		err = a.printJSON(taughtView(change, past, l))
	} else {
		err = a.print(taughtLines(change, past, l, at)...)
	}
	for _, p := range past {
		if err == nil && p.err != nil {
			return exitWith(exitRefused)
		}
	}
	return err
}

// pastError is an uncertain call whose answer the pattern fits.
type pastError struct {
	op   *deed.Operation
	who  deed.Principal
	text string
	// left says why it is not the rule's to settle, "" where it is.
	left    string
	settled bool
	err     error
}

// pastErrors finds the calls that the pattern fits, in every tenant.
func pastErrors(ctx context.Context, core *daemon.Core, at place, who deed.Principal, l lesson) ([]pastError, error) {
	all, err := everyone(ctx, at, core, who)
	if err != nil {
		return nil, err
	}
	var found []pastError
	for _, in := range all {
		query := deed.Query{Statuses: []deed.Status{deed.StatusUncertain}, Reason: deed.ReasonToolError, Tool: l.tool, Limit: 1000}
		for {
			page, err := core.Runtime.List(ctx, in, query)
			if err != nil {
				return nil, err
			}
			for _, listed := range page.Operations {
				op, err := core.Runtime.Get(ctx, in, listed.ID)
				if errors.Is(err, deed.ErrDamaged) {
					continue // a person settles it
				}
				if err != nil {
					return nil, err
				}
				text := outcome.Text(op.Result)
				if op.Result == nil {
					text = op.Message
				}
				if l.pattern.MatchString(text) {
					found = append(found, pastError{op: op, who: in, text: text, left: notByRule(op, l)})
				}
			}
			if query.Before = page.Next; query.Before == "" {
				break
			}
		}
	}
	return found, nil
}

// notByRule says why an uncertain operation is a person's or a look-up's to
// settle, although its answer fits: the rule speaks of that one answer only.
func notByRule(op *deed.Operation, l lesson) string {
	open := 0
	for _, attempt := range op.Attempts {
		if attempt.Open() {
			open++
		}
	}
	current := op.Current()
	switch {
	case op.Status != deed.StatusUncertain || op.Reason != deed.ReasonToolError:
		return "it is uncertain for another reason"
	case current == nil || !current.Open() || current.EndedAt.IsZero():
		return "its latest attempt has not ended with that answer"
	case open != 1:
		return "an earlier attempt may have been applied, too"
	case op.Diverged || op.Contradicted || len(op.Receipts) > 0:
		return "there is evidence that it was applied"
	case current.Probing != nil && (current.Probing.Last == deed.VerdictFound || current.Probing.Last == deed.VerdictMany):
		return "a look-up found something"
	case op.Result == nil:
		return "its whole answer is no longer stored"
	case !op.ResultIsError:
		return "its answer is not marked as an error"
	}
	return ""
}

// settle records that nothing was changed; an operation that has moved since it
// was looked at is left as it is.
func (p *pastError) settle(ctx context.Context, core *daemon.Core, l lesson) {
	if p.left != "" {
		return
	}
	op, err := core.Runtime.Resolve(ctx, p.who, p.op.ID, deed.Resolution{Outcome: deed.ResolveNotApplied, Reason: l.reason(), Version: p.op.Version})
	if err != nil {
		p.err = err
		return
	}
	p.op, p.settled = op, true
}
