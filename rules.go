// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/deed-run/deed/internal/canon"
)

// ruleBook keeps compiled fingerprint rules, by hash and by tool.
type ruleBook struct {
	mu       sync.RWMutex
	programs map[Digest]*canon.Program
	tools    map[ruleKey]ruled
	active   map[ruleKey]bool
}

type ruleKey struct {
	tool     Tool
	revision string
}

// ruled is what the Runtime needs of a tool's rule beyond the rule itself.
type ruled struct {
	hash    Digest
	program *canon.Program
	rules   Digest
}

// maxRuled bounds how many tools' rules are kept compiled.
const maxRuled = 10_000

// ruledBy returns the compiled form of a rule, compiling it once per tool and
// policy revision.
func (rt *Runtime) ruledBy(rule Rule) (ruled, error) {
	key := ruleKey{rule.Tool, rule.Revision}
	rt.rules.mu.RLock()
	known, ok := rt.rules.tools[key]
	rt.rules.mu.RUnlock()
	if ok {
		return known, nil
	}
	program, err := canon.CompileWith(canon.Rules(rule.Fingerprint), rt.canonOptions())
	if err != nil {
		return ruled{}, fmt.Errorf("fingerprint rules of %s: %w", rule.Tool, err)
	}
	hash, err := ruleHash(rule, program.Hash())
	if err != nil {
		return ruled{}, err
	}
	known = ruled{hash: hash, program: program, rules: Digest(program.Hash())}
	rt.rules.mu.Lock()
	defer rt.rules.mu.Unlock()
	if rt.rules.tools == nil {
		rt.rules.tools = map[ruleKey]ruled{}
		rt.rules.active = map[ruleKey]bool{}
		rt.rules.programs = map[Digest]*canon.Program{}
	}
	if len(rt.rules.tools) >= maxRuled {
		// Names come from callers; what is configured is compiled again.
		clear(rt.rules.tools)
	}
	rt.rules.tools[key] = known
	rt.rules.programs[known.rules] = program
	return known, nil
}

// ruleHash covers what decides fingerprint, key, approval and budget of one
// tool; any other edit of a policy leaves it as it is.
func ruleHash(rule Rule, fingerprint string) (Digest, error) {
	parts := map[string]any{
		"fingerprint": fingerprint, "from": rule.Key.From, "before": rule.Key.Before,
		"identity": rule.Identity, "scope": rule.Scope, "matter": rule.Matter,
		"conditions": rule.Conditions,
	}
	if a := rule.Approval; a != nil {
		parts["approval"] = []any{a.When == nil, a.Approvers, a.Quorum, a.Expires, a.OnCall, a.Self}
	}
	if rule.Spend != nil {
		parts["budget"] = rule.Spend.Budget
	}
	doc, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("hashing the rules of %s: %w", rule.Tool, err)
	}
	return digestOf(doc), nil
}

// activate records the tool's rules in the ledger, once per process: so that
// repeats can be compared under them for as long as records live, and so that
// a process with older rules for this tool stops beginning.
func (rt *Runtime) activate(ctx context.Context, rule Rule, r ruled) error {
	key := ruleKey{rule.Tool, rule.Revision}
	rt.rules.mu.RLock()
	done := rt.rules.active[key]
	rt.rules.mu.RUnlock()
	if done {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	doc := r.program.Source()
	if _, err := rt.store.Setting(ctx, "rules/"+string(r.rules), func([]byte) []byte { return doc }); err != nil {
		return err
	}
	if _, err := rt.store.Setting(ctx, ActiveSetting(rule.Tool), func([]byte) []byte { return []byte(r.hash) }); err != nil {
		return err
	}
	rt.rules.mu.Lock()
	rt.rules.active[key] = true
	rt.rules.mu.Unlock()
	return nil
}

// ActiveSetting names the setting under which a Store finds [View.Active].
func ActiveSetting(tool Tool) string { return "active/" + string(tool) }

// programFor returns the rules of a hash, from memory or from the ledger; nil
// when they are gone or this version cannot compute them.
func (rt *Runtime) programFor(ctx context.Context, hash Digest) (*canon.Program, error) {
	rt.rules.mu.RLock()
	program := rt.rules.programs[hash]
	rt.rules.mu.RUnlock()
	if program != nil {
		return program, nil
	}
	doc, err := rt.store.Setting(ctx, "rules/"+string(hash), nil)
	if err != nil || doc == nil {
		return nil, err
	}
	program, err = canon.Load(doc, rt.canonOptions())
	if err != nil || Digest(program.Hash()) != hash {
		return nil, nil
	}
	rt.rules.mu.Lock()
	rt.rules.programs[hash] = program
	rt.rules.mu.Unlock()
	return program, nil
}

func (rt *Runtime) canonOptions() canon.Options { return canon.Options{NFC: rt.nfc} }
