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
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// lookupCost bounds the work of one expression over a page of results.
const lookupCost = 20_000_000

// expression is a compiled CEL expression over what a look-up read. It is safe
// for concurrent use.
type expression struct {
	source  string
	program cel.Program
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
	options := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		cel.Function("json", cel.Overload("json_of_text", []*cel.Type{cel.StringType}, cel.DynType, cel.UnaryBinding(jsonOfText))),
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
	checked, issues := environment.Compile(source)
	if issues.Err() != nil {
		return nil, compileFault(issues, "")
	}
	e := &expression{source: source}
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
	if e.program, err = environment.Program(checked, cel.CostLimit(lookupCost), cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return e, nil
}

// jsonOfText is the function json(text): tools often answer with JSON in a
// text.
func jsonOfText(text ref.Val) ref.Val {
	plain, ok := text.Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	value, err := celArguments([]byte(plain))
	if err != nil {
		return types.NewErr("json: the text is no JSON")
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// text is the source, "" for none.
func (e *expression) text() string {
	if e == nil {
		return ""
	}
	return e.source
}

func (e *expression) eval(variables map[string]any) (ref.Val, error) {
	value, _, err := e.program.Eval(variables)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return value, nil
}

// jsonOf is a value of CEL as JSON, integers exact.
func jsonOf(value ref.Val) (json.RawMessage, error) {
	switch plain := value.Value().(type) {
	case map[string]any, []any, string, bool, int64, float64:
		return json.Marshal(plain)
	}
	native, err := value.ConvertToNative(types.JSONValueType)
	if err != nil {
		return nil, fmt.Errorf("%s is no value of JSON", value.Type().TypeName())
	}
	message, ok := native.(*structpb.Value)
	if !ok {
		return nil, fmt.Errorf("%s is no value of JSON", value.Type().TypeName())
	}
	return protojson.Marshal(message)
}

// textOf is a value that must be a text or a number, "" for null.
func textOf(value ref.Val) (string, error) {
	if value.Type() == types.NullType {
		return "", nil
	}
	raw, err := jsonOf(value)
	if err != nil {
		return "", err
	}
	text, ok := plainText(raw)
	if !ok {
		return "", fmt.Errorf("it is a %s where a text or number must stand", value.Type().TypeName())
	}
	return text, nil
}
