// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"maps"
	"slices"
)

// Compile checks the rules and prepares them for use. Its errors are [*Error]
// with code [CodeInvalidRules]; they name the rule and what to write instead.
func Compile(r Rules) (*Program, error) { return CompileWith(r, Options{}) }

// CompileWith is Compile with injected functions. Rules that use nfc need
// Options.NFC.
func CompileWith(r Rules, o Options) (*Program, error) {
	p, e := compile(r, o)
	if e != nil {
		return nil, e
	}
	return p, nil
}

func compile(r Rules, o Options) (*Program, *Error) {
	p := &Program{maxBytes: r.MaxBytes, ignoreUnlisted: r.Unlisted == "ignore"}
	if e := p.scalars(r); e != nil {
		return nil, e
	}
	lists := []struct {
		rule     string
		pointers []string
		patterns *[]pattern
	}{
		{"include", r.Include, &p.include},
		{"exclude", r.Exclude, &p.exclude},
		{"require", r.Require, &p.require},
		{"null_is_absent", r.NullIsAbsent, &p.nullIsAbsent},
		{"empty_is_absent", r.EmptyIsAbsent, &p.emptyIsAbsent},
	}
	for _, list := range lists {
		for _, pointer := range list.pointers {
			one, e := rulePointer(list.rule, pointer)
			if e != nil {
				return nil, e
			}
			*list.patterns = append(*list.patterns, one)
		}
		*list.patterns = sortPatterns(*list.patterns)
	}
	for _, step := range []func(Rules, Options) *Error{p.compileDefaults, p.compileNormalize, p.compileUnordered} {
		if e := step(r, o); e != nil {
			return nil, e
		}
	}
	if e := p.contradictions(); e != nil {
		return nil, e
	}
	p.included, p.excluded = newTrie(p.include), newTrie(p.exclude)
	return p, p.seal(r)
}

func (p *Program) scalars(r Rules) *Error {
	switch r.Numbers {
	case "", "exact":
	case "interop":
		p.numbers = numbersInterop
	case "ieee754":
		p.numbers = numbersIEEE754
	default:
		return invalid("numbers", "", "unknown value: write exact, interop or ieee754")
	}
	if r.Unlisted != "" && r.Unlisted != "error" && r.Unlisted != "ignore" {
		return invalid("unlisted", "", "unknown value: write error or ignore")
	}
	if p.ignoreUnlisted && len(r.Include) == 0 {
		return invalid("unlisted", "", "ignore has no meaning without include: list the effect in include, or remove unlisted")
	}
	if r.MaxBytes < 0 {
		return invalid("max_bytes", "", "a limit is positive: write the number of bytes, or remove it")
	}
	if p.maxBytes == 0 {
		p.maxBytes = DefaultMaxBytes
	}
	return nil
}

func (p *Program) compileDefaults(r Rules, _ Options) *Error {
	for _, pointer := range slices.Sorted(maps.Keys(r.Defaults)) {
		at, e := rulePointer("defaults", pointer)
		if e != nil {
			return e
		}
		if at.segments[len(at.segments)-1].every {
			return invalid("defaults", pointer, "a default needs the name of its member: end the pointer with a name, not with *")
		}
		value, e := new(parser).document(slices.Clone(r.Defaults[pointer]), p.maxBytes)
		if e != nil {
			return invalid("defaults", pointer, "the default is not one valid JSON value: "+e.Detail)
		}
		same := func(q pattern) bool { return len(q.segments) == len(at.segments) && q.covers(at) }
		p.defaults = append(p.defaults, defaultValue{
			at: at, value: value,
			overNull:  slices.ContainsFunc(p.nullIsAbsent, same),
			overEmpty: slices.ContainsFunc(p.emptyIsAbsent, same),
		})
	}
	// Outer defaults first: they may bring the object an inner one completes.
	slices.SortStableFunc(p.defaults, func(a, b defaultValue) int { return -comparePatterns(a.at, b.at) })
	return nil
}

func (p *Program) compileNormalize(r Rules, o Options) *Error {
	for _, pointer := range slices.Sorted(maps.Keys(r.Normalize)) {
		at, e := rulePointer("normalize", pointer)
		if e != nil {
			return e
		}
		rule := normalizeRule{at: at}
		for _, name := range r.Normalize[pointer] {
			apply, known := normaliserNamed(name, o)
			if !known {
				return invalid("normalize", pointer, "unknown normaliser "+name+": write one of "+normaliserNames)
			}
			if apply == nil {
				return invalid("normalize", pointer, "normaliser nfc needs a Unicode normaliser and this program has none: set Options.NFC, or remove nfc")
			}
			rule.steps = append(rule.steps, step{name: name, apply: apply})
		}
		if len(rule.steps) == 0 {
			return invalid("normalize", pointer, "no normaliser is listed: write one of "+normaliserNames)
		}
		p.normalize = append(p.normalize, rule)
	}
	return nil
}

func (p *Program) compileUnordered(r Rules, _ Options) *Error {
	for _, pointer := range slices.Sorted(maps.Keys(r.Unordered)) {
		at, e := rulePointer("unordered", pointer)
		if e != nil {
			return e
		}
		word := r.Unordered[pointer]
		if word != "set" && word != "multiset" {
			return invalid("unordered", pointer, "unknown value: write set or multiset")
		}
		p.unordered = append(p.unordered, unorderedRule{at: at, set: word == "set"})
	}
	// Inner arrays first: the order of outer elements depends on them.
	slices.SortStableFunc(p.unordered, func(a, b unorderedRule) int { return comparePatterns(a.at, b.at) })
	return nil
}

// contradictions refuses rules of which one could never act.
func (p *Program) contradictions() *Error {
	for _, out := range p.exclude {
		for _, in := range p.include {
			if out.covers(in) {
				return invalid("include", in.source, "exclude "+out.source+" removes it: list it in one of the two")
			}
			if out.coversBy(bytes.EqualFold, in) {
				return invalid("exclude", out.source, "it differs only by case from include "+in.source+", and receivers may take one for the other: remove it")
			}
		}
		for _, must := range p.require {
			if out.covers(must) {
				return invalid("require", must.source, "exclude "+out.source+" removes it: a required field identifies the effect and cannot be excluded")
			}
		}
	}
	return nil
}

// rulePointer compiles a pointer of a rule, which addresses something below
// the root.
func rulePointer(rule, pointer string) (pattern, *Error) {
	if pointer == "" {
		return pattern{}, invalid(rule, "", "an empty pointer means all arguments: write \"/name\"")
	}
	p, problem := parsePointer(pointer)
	if problem != "" {
		return pattern{}, invalid(rule, pointer, problem)
	}
	return p, nil
}

func invalid(rule, pointer, problem string) *Error {
	return &Error{Code: CodeInvalidRules, Pointer: pointer, Detail: rule + ": " + problem}
}
