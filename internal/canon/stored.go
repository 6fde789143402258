// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Hash identifies the rules: "sha256:" and the hash of [Program.Source]. Equal
// rules have equal hashes however they were written.
func (p *Program) Hash() string { return p.hash }

// Source is the canonical JSON of algorithm and rules, to be stored under
// [Program.Hash] and read back with [Load].
func (p *Program) Source() []byte { return bytes.Clone(p.source) }

// Load compiles stored rules. It refuses, with [CodeUnknownAlgorithm], rules
// of an algorithm that this package does not implement: fingerprints made
// under them cannot be verified.
func Load(stored []byte, o Options) (*Program, error) {
	if err := Strict(stored); err != nil {
		return nil, invalid("stored rules", "", "damaged: "+err.Error())
	}
	var named struct {
		Algorithm string `json:"algorithm"`
	}
	if err := json.Unmarshal(stored, &named); err != nil {
		return nil, invalid("stored rules", "", "not an object with algorithm and rules: "+err.Error())
	}
	if named.Algorithm != Algorithm {
		return nil, &Error{Code: CodeUnknownAlgorithm, Detail: "algorithm " + named.Algorithm + " is not " + Algorithm + ": use the version of the program that wrote these rules"}
	}
	var s source
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return nil, invalid("stored rules", "", "not the rules of "+Algorithm+": "+err.Error())
	}
	return CompileWith(s.Rules, o)
}

// source is the form in which rules are stored and hashed.
type source struct {
	Algorithm string `json:"algorithm"`
	Rules     Rules  `json:"rules"`
}

// seal writes the normalised rules, so that equal rules have one hash however
// they were spelled or ordered.
func (p *Program) seal(r Rules) *Error {
	list := func(patterns []pattern) []string {
		var pointers []string
		for _, one := range patterns {
			pointers = append(pointers, one.source)
		}
		slices.Sort(pointers)
		return pointers
	}
	r.Include, r.Exclude, r.Require = list(p.include), list(p.exclude), list(p.require)
	r.NullIsAbsent, r.EmptyIsAbsent = list(p.nullIsAbsent), list(p.emptyIsAbsent)
	r.MaxBytes = p.maxBytes
	r.Numbers = [...]string{"exact", "interop", "ieee754"}[p.numbers]
	r.Unlisted = strings.TrimPrefix(r.Unlisted, "error")
	raw, err := json.Marshal(source{Algorithm: Algorithm, Rules: r})
	if err != nil {
		return invalid("rules", "", "cannot be stored: "+err.Error())
	}
	canonical, err := CanonicalJSON(raw)
	if err != nil {
		return invalid("rules", "", "cannot be stored: "+err.Error())
	}
	p.source, p.hash = canonical, digest(canonical)
	return nil
}
