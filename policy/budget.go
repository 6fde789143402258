// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
)

func budgetsKeys() []key[deed.Budget] {
	return []key[deed.Budget]{
		{name: "limit", read: func(d *decoder, at place, into *deed.Budget) { d.amount(at, &into.Limit) }},
		{name: "currency", read: func(d *decoder, at place, into *deed.Budget) { d.currency(at, &into.Currency) }},
		{name: "window", read: func(d *decoder, at place, into *deed.Budget) { d.window(at, into) }},
		{name: "scope", initial: "tenant", read: func(d *decoder, at place, into *deed.Budget) {
			word(d, at, &into.Scope, deed.BudgetPerTenant, deed.BudgetPerActor, deed.BudgetPerTool, deed.BudgetPerRun)
		}},
	}
}

func (d *decoder) budgets(at place, config *Config) {
	for _, e := range d.entries(at) {
		before := len(d.found)
		named := e.name != "" && !strings.ContainsFunc(e.name, func(r rune) bool { return !upstreamRune(r) })
		if !named {
			d.refuse(e.key, "is no name for a budget", "write letters, digits, _ . and - only")
		}
		budget := deed.Budget{Name: e.name, Scope: deed.BudgetPerTenant}
		block(d, e.value, budgetsKeys(), &budget)
		_, limited := d.written(e.value, "limit")
		switch {
		case len(d.found) > before:
		case !limited:
			d.refuse(e.value, "has no limit", "write limit: 1000.00")
		case budget.Currency == "":
			d.refuse(e.value, "has no currency", "write currency: EUR, or the unit that is counted")
		}
		if named {
			config.Budgets[e.name] = budget
		}
	}
}

// amount reads an exact decimal number from its digits in the file.
func (d *decoder) amount(at place, into *deed.Amount) {
	const remedy = "write a decimal number such as 1000.00"
	text, ok := written(at.node)
	if _, truth := at.node.(*ast.BoolNode); !ok || truth {
		d.wrongType(at, "an amount", remedy)
		return
	}
	value, err := deed.ParseAmount(text)
	switch {
	case err != nil:
		wrong, _, _ := strings.Cut(err.Error(), ": write")
		d.refuse(at, wrong, remedy)
	case value < 0:
		d.refuse(at, "limit "+text+" is negative", "write 0 to let nothing through, or a positive number")
	default:
		*into = value
	}
}

func (d *decoder) currency(at place, into *string) {
	text, ok := d.text(at)
	if !ok {
		return
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !upstreamRune(r) }) || len(text) > 16 {
		d.refuse(at, text+" is no currency", "write its code, such as EUR")
		return
	}
	*into = strings.ToUpper(text) // as calls are read: "eur" is not another budget
}

func (d *decoder) window(at place, into *deed.Budget) {
	calendar := []string{"day", "week", "month"}
	text, ok := written(at.node)
	switch {
	case ok && slices.Contains(calendar, text):
		into.Calendar = text
	case ok && !strings.ContainsAny(text, "0123456789"):
		d.unknownWord(at, text, append(calendar, "a duration such as 24h"))
	default:
		d.duration(at, &into.Window)
	}
}

// Spend says what a call costs.
type Spend struct {
	// Budget is one of [Config.Budgets].
	Budget deed.Budget
	// Amount is the pointer to the amount in the arguments, Actual that into the
	// result, when it says what the call did cost.
	Amount string
	Actual string
	// Currency, when set, is the pointer to the currency in the arguments, which
	// must be that of the budget.
	Currency string
	// Scale is by how many decimals amounts are shifted: 2 for cents.
	Scale int
}

// spendReader is a Spend while it is read.
type spendReader struct {
	Spend
	name     string
	currency string
}

func spendKeys() []key[spendReader] {
	pointer := func(name string, field func(*spendReader) *string) key[spendReader] {
		return key[spendReader]{name: name, read: func(d *decoder, at place, into *spendReader) {
			if text, ok := d.pointer(at); ok {
				*field(into) = text
			}
		}}
	}
	return []key[spendReader]{
		{name: "name", read: func(d *decoder, at place, into *spendReader) { into.name, _ = d.text(at) }},
		pointer("amount", func(s *spendReader) *string { return &s.Amount }),
		{name: "currency", read: func(d *decoder, at place, into *spendReader) {
			if text, ok := written(at.node); ok && strings.HasPrefix(text, "/") {
				into.Currency, _ = d.pointer(at)
				return
			}
			d.currency(at, &into.currency)
		}},
		pointer("actual", func(s *spendReader) *string { return &s.Actual }),
		{name: "scale", initial: "0", read: func(d *decoder, at place, into *spendReader) {
			digits := []string{"0", "1", "2", "3", "4", "5", "6"}
			var digit string
			word(d, at, &digit, digits...)
			into.Scale = max(0, slices.Index(digits, digit))
		}},
	}
}

// spend reads what a tool costs, after budgets.
func (d *decoder) spend(at place, into **Spend) {
	before := len(d.found)
	var reader spendReader
	block(d, at, spendKeys(), &reader)
	if len(d.found) > before {
		return
	}
	budget, known := d.config.Budgets[reader.name]
	names := slices.Sorted(maps.Keys(d.config.Budgets))
	switch {
	case reader.name == "":
		d.refuse(at, "names no budget", "write name: and one of budgets")
	case !known:
		remedy := "declare " + reader.name + " under budgets"
		if near := nearest(reader.name, names); near != "" {
			remedy = "write " + near + " instead, or " + remedy
		}
		d.undeclared(d.inside(at, "name"), "budget "+reader.name+" is not declared", remedy, "budgets")
	case reader.Amount == "":
		d.refuse(at, "names no amount", "write amount: and the pointer to it in the arguments, such as /amount")
	case reader.currency != "" && !strings.EqualFold(reader.currency, budget.Currency):
		d.refuse(d.inside(at, "currency"), "is "+reader.currency+", and budget "+budget.Name+" is in "+budget.Currency, "write a budget of the same currency")
	default:
		reader.Budget = budget
		*into = &reader.Spend
	}
}

// rule is the cost as the domain books it.
func (s *Spend) rule() *deed.SpendRule {
	if s == nil {
		return nil
	}
	rule := &deed.SpendRule{Budget: s.Budget, Amount: s.cost}
	if s.Actual != "" {
		rule.Actual = func(result []byte) (deed.Amount, bool) {
			raw, found, err := pick(result, s.Actual)
			if err != nil || !found {
				return 0, false
			}
			amount, err := deed.CostOf(raw, s.Scale)
			return amount, err == nil
		}
	}
	return rule
}

// cost reads what a call costs; the error refuses the call.
func (s *Spend) cost(arguments []byte) (deed.Amount, error) {
	if err := canon.OneOfEachCase(arguments); err != nil {
		return 0, errors.New(plain(err))
	}
	raw, found, err := pick(arguments, s.Amount)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, errors.New("the arguments have no " + s.Amount + ", which is what the call costs")
	}
	if s.Currency != "" {
		var currency string
		named, found, err := pick(arguments, s.Currency)
		if err != nil {
			return 0, err
		}
		if !found || json.Unmarshal(named, &currency) != nil {
			return 0, errors.New("the arguments have no text " + s.Currency + ", which is the currency")
		}
		if !strings.EqualFold(currency, s.Budget.Currency) {
			return 0, fmt.Errorf("%s is another currency than that of budget %s, which is in %s", s.Currency, s.Budget.Name, s.Budget.Currency)
		}
	}
	amount, err := s.scaled(raw)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.Amount, err)
	}
	return amount, nil
}

// scaled shifts an amount by Scale decimals, exactly.
func (s *Spend) scaled(raw []byte) (deed.Amount, error) {
	amount, err := deed.AmountOf(raw)
	if err != nil {
		return 0, err
	}
	for range s.Scale {
		if amount%10 != 0 {
			return 0, errors.New("it has more decimals than can be booked")
		}
		amount /= 10
	}
	return amount, nil
}

// source is everything that the cost consists of, as one line.
func (s *Spend) source() string {
	b := s.Budget
	return fmt.Sprintf("budget: %s %s %s, window %s%s, scope %s, amount %s e-%d, currency %s, actual %s",
		b.Name, b.Limit, b.Currency, b.Window, b.Calendar, b.Scope, s.Amount, s.Scale, s.Currency, s.Actual)
}

// BudgetList lists the budgets in the order of their names.
func (c *Config) BudgetList() []deed.Budget {
	var list []deed.Budget
	for _, name := range slices.Sorted(maps.Keys(c.Budgets)) {
		list = append(list, c.Budgets[name])
	}
	return list
}
