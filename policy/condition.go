// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
)

// conditionCost bounds the work of one condition, in cost units of CEL.
const conditionCost = 1_000_000

// Condition is a compiled CEL expression over one call. It is safe for
// concurrent use.
type Condition struct {
	source  string
	program cel.Program
}

// compileCondition compiles a CEL expression that yields a boolean, over the
// variables args, tool, tenant and actor.
//
// JSON numbers without a fraction are int when they fit 64 bits, however they
// are spelled; all others are double. Where it matters that a double would round
// one there is no answer, so that no bound is passed by digits that the comparison
// does not see.
func compileCondition(source string) (*Condition, error) {
	environment, err := cel.NewEnv(
		cel.Variable("args", cel.DynType),
		cel.Variable("tool", cel.StringType),
		cel.Variable("tenant", cel.StringType),
		cel.Variable("actor", cel.StringType),
		cel.CrossTypeNumericComparisons(true),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
	)
	if err != nil {
		return nil, fmt.Errorf("preparing conditions: %w", err)
	}
	ast, issues := environment.Compile(source)
	if issues.Err() != nil {
		return nil, compileFault(issues, " of the condition")
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("yields %s where true or false must come out", out)
	}
	program, err := environment.Program(ast, cel.CostLimit(conditionCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	return &Condition{source: source, program: program}, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Source is the expression as it was written.
func (c *Condition) Source() string { return c.source }

// Holds evaluates the condition. An error means that nobody knows: callers
// take it for the answer that stops the call. Arguments of which a receiver may
// read another member than the condition does have no answer.
func (c *Condition) Holds(tool deed.Tool, arguments []byte, principal deed.Principal) (bool, error) {
	if err := canon.OneOfEachCase(arguments); err != nil {
		return false, errors.New(plain(err))
	}
	var rounded string
	args, err := celDecoded(arguments, func(number json.Number) (any, error) {
		f, short, err := unrounded(number)
		if short != "" && (rounded == "" || short < rounded) {
			rounded = short
		}
		return f, err
	})
	if err != nil {
		return false, err
	}
	holds, err := c.eval(args, tool, principal)
	if err != nil || rounded == "" {
		return holds, err
	}
	// One receiver rounds as a double does, another reads every digit: only what
	// is so for both is known.
	if args, err = celDecoded(arguments, exactly); err != nil {
		return false, err
	}
	exact, err := c.eval(args, tool, principal)
	switch {
	case err != nil:
		return false, fmt.Errorf("%w: %s", err, rounded)
	case exact != holds:
		return false, errors.New(rounded)
	}
	return holds, nil
}

func (c *Condition) eval(args any, tool deed.Tool, principal deed.Principal) (bool, error) {
	value, _, err := c.program.Eval(map[string]any{
		"args": args, "tool": string(tool), "tenant": string(principal.Tenant), "actor": string(principal.Actor),
	})
	if err != nil {
		return false, errors.New(firstLine(err.Error()))
	}
	answer, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it yields %s, not true or false", value.Type().TypeName())
	}
	return answer, nil
}

// celArguments decodes arguments from their canonical form, in which equal
// numbers are spelled alike.
func celArguments(arguments []byte) (any, error) {
	return celDecoded(arguments, asDouble)
}

// celDecoded is celArguments with its own way to read what is no int.
func celDecoded(arguments []byte, read func(json.Number) (any, error)) (any, error) {
	canonical, err := canon.CanonicalJSON(arguments)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(canonical))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return celNumbers(value, read)
}

func celNumbers(value any, read func(json.Number) (any, error)) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		return read(v)
	case []any:
		for i := range v {
			one, err := celNumbers(v[i], read)
			if err != nil {
				return nil, err
			}
			v[i] = one
		}
	case map[string]any:
		for name := range v {
			one, err := celNumbers(v[name], read)
			if err != nil {
				return nil, err
			}
			v[name] = one
		}
	}
	return value, nil
}
