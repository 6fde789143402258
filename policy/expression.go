// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// lookupCost bounds the work of one expression over a page of results.
const lookupCost = 20_000_000

// expression is a compiled CEL expression over what a look-up read. It is safe
// for concurrent use.
type expression struct {
	source string
	// program reads JSON in texts with every digit of whole numbers, rounding as
	// doubles; see readings.
	program, rounding cel.Program
	// mentions are the variables that it uses.
	mentions []string
}

// The variables of look-ups.
const (
	varResult      = "result"
	varArgs        = "args"
	varItem        = "item"
	varMarker      = "marker"
	varClientID    = "client_id"
	varProviderKey = "provider_key"
)

// marks are the variables that only the operation's own effect can hold.
func markNames() []string { return []string{varMarker, varClientID, varProviderKey} }

// expression reads a CEL expression over the variables.
func (d *decoder) expression(at place, variables ...string) *expression {
	text, ok := d.text(at)
	if !ok {
		return nil
	}
	compiled, err := compileExpression(text, variables)
	if err != nil {
		d.refuse(at, "CEL: "+err.Error(), "write an expression over "+listed(variables, "and"))
		return nil
	}
	return compiled
}

func compileExpression(source string, variables []string) (*expression, error) {
	e := &expression{source: source}
	var err error
	if e.program, err = e.compile(variables, wholeExactly); err != nil {
		return nil, err
	}
	e.rounding, err = e.compile(variables, asDouble)
	return e, err
}

// compile compiles the source with a way to read the numbers of JSON in a text.
func (e *expression) compile(variables []string, read func(json.Number) (any, error)) (cel.Program, error) {
	options := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		cel.Function("json", cel.Overload("json_of_text", []*cel.Type{cel.StringType}, cel.DynType, cel.UnaryBinding(jsonOfText(read)))),
	}
	for _, name := range variables {
		kind := cel.DynType
		if slices.Contains(markNames(), name) {
			kind = cel.StringType
		}
		options = append(options, cel.Variable(name, kind))
	}
	environment, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	checked, issues := environment.Compile(e.source)
	if issues.Err() != nil {
		return nil, compileFault(issues, "")
	}
	var hidden string
	celast.PreOrderVisit(checked.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		switch x.Kind() {
		case celast.IdentKind:
			if name := x.AsIdent(); slices.Contains(variables, name) && !slices.Contains(e.mentions, name) {
				e.mentions = append(e.mentions, name)
			}
		case celast.ComprehensionKind:
			for _, name := range []string{x.AsComprehension().IterVar(), x.AsComprehension().IterVar2()} {
				if slices.Contains(variables, name) {
					hidden = name
				}
			}
		}
	}))
	if hidden != "" {
		return nil, fmt.Errorf("gives elements the name %s, which hides the variable", hidden)
	}
	program, err := environment.Program(checked, cel.CostLimit(lookupCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return program, nil
}

// jsonOfText is the function json(text): tools often answer with JSON in a
// text.
func jsonOfText(read func(json.Number) (any, error)) func(ref.Val) ref.Val {
	return func(text ref.Val) ref.Val {
		plain, ok := text.Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(text)
		}
		value, err := celDecoded([]byte(plain), read)
		if err != nil {
			return types.NewErr("json: the text is no JSON")
		}
		return types.DefaultTypeAdapter.NativeToValue(value)
	}
}

// text is the source, "" for none.
func (e *expression) text() string {
	if e == nil {
		return ""
	}
	return e.source
}

// eval yields the value with every digit of whole numbers.
func (e *expression) eval(variables map[string]any) (ref.Val, error) {
	return run(e.program, variables)
}

func run(program cel.Program, variables map[string]any) (ref.Val, error) {
	value, _, err := program.Eval(variables)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return value, nil
}
