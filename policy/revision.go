// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
)

// meaning is what a file says, without how it says it: comments, order and
// spelling are gone, variables stand by their names.
type meaning struct {
	Tenant    deed.Tenant
	Actor     deed.Actor
	Tokens    []Token
	Upstreams map[string]upstreamMeaning
	Defaults  Defaults
	Tools     map[deed.Tool]toolMeaning
	// What came later is left out where a file says nothing of it.
	JWT      *JWT                    `json:",omitempty"`
	OIDC     *OIDC                   `json:",omitempty"`
	Consents *Consents               `json:",omitempty"`
	HTTP     map[string]HTTPUpstream `json:",omitempty"`
	Routes   []routeMeaning          `json:",omitempty"`
	// Budgets are also part of the tools that spend.
	Budgets map[string]deed.Budget `json:",omitempty"`
	// Connectors are known by what describes them, Confirmations by what makes
	// them count.
	Connectors    map[string]string  `json:",omitempty"`
	Confirmations map[string]string  `json:",omitempty"`
	Programs      map[string]Program `json:",omitempty"`
}

type routeMeaning struct {
	Route
	Entry toolMeaning
}

type upstreamMeaning struct {
	Command []string
	Env     map[string]string
	Cwd     string
	URL     string
	Headers map[string]string
	Account string
}

type toolMeaning struct {
	Effect         deed.EffectClass
	Terms          Terms
	Identity       deed.Family
	Scope          deed.KeyScope
	Matter         []string
	Fingerprint    string
	Deny           []string
	TwinsExecuting bool
	Failed         []string
	Receipt        Receipt
	Approval       string `json:",omitempty"`
	Spend          string `json:",omitempty"`
	// Finding is how lost effects are found.
	Finding []string `json:",omitempty"`
}

// revisionOf names the policy as a whole: "sha256:" and hex over its meaning.
func revisionOf(config *Config) string {
	m := meaning{
		Tenant: config.Tenant, Actor: config.Actor, Tokens: config.Auth.Tokens, Defaults: config.Defaults,
		Upstreams: map[string]upstreamMeaning{}, Tools: map[deed.Tool]toolMeaning{},
	}
	for name, up := range config.Upstreams {
		m.Upstreams[name] = upstreamMeaning{
			Command: sources(up.Command), Env: sourceMap(up.Env), Cwd: up.cwd, URL: up.URL.Source,
			Headers: sourceMap(up.Headers), Account: up.Account,
		}
	}
	for name, tool := range config.Tools {
		m.Tools[name] = meaningOf(tool)
	}
	m.Budgets, m.Programs = config.Budgets, config.Programs
	m.Connectors, m.Confirmations = map[string]string{}, map[string]string{}
	for name, connector := range config.Connectors {
		sum := sha256.Sum256(connector.Source)
		m.Connectors[name] = connector.Kind + " " + hex.EncodeToString(sum[:])
	}
	for name, confirmation := range config.Confirmations {
		m.Confirmations[name] = confirmation.source()
	}
	m.JWT, m.OIDC, m.Consents, m.HTTP = config.Auth.JWT, config.Auth.OIDC, config.Auth.Consents, config.HTTP
	for _, route := range config.Routes {
		m.Routes = append(m.Routes, routeMeaning{Route: route, Entry: meaningOf(route.Entry)})
	}
	slices.SortFunc(m.Routes, func(a, b routeMeaning) int {
		return cmp.Or(strings.Compare(a.Upstream, b.Upstream), strings.Compare(a.Method, b.Method), strings.Compare(a.Pattern, b.Pattern))
	})
	doc, err := json.Marshal(m)
	if err != nil {
		// Strings, numbers and lists of them always marshal.
		panic("policy: revision: " + err.Error())
	}
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func meaningOf(tool Tool) toolMeaning {
	m := toolMeaning{
		Effect: tool.Effect, Terms: tool.Terms, Identity: tool.Identity, Scope: tool.Scope, Matter: tool.Matter,
		Fingerprint: fingerprintHash(tool.Fingerprint), Deny: denySources(tool.Deny),
		TwinsExecuting: tool.TwinsExecuting, Failed: failedSources(tool.Failed), Receipt: tool.Receipt,
	}
	if tool.Approval != nil {
		m.Approval = tool.Approval.source()
	}
	if tool.Spend != nil {
		m.Spend = tool.Spend.source()
	}
	m.Finding = findingSources(tool)
	return m
}

// findingSources is everything by which an effect is found again.
func findingSources(tool Tool) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if m := tool.Marker; m != nil {
		add("marker %q %q %q", m.Into, m.Append, m.Template)
	}
	if c := tool.ClientID; c != nil {
		add("client_id %q %v", c.Into, c.shape)
	}
	if p := tool.ProviderKey; p != nil {
		add("provider_key %q %q %q %q %v %s %s", p.Header, p.Into, p.Meta, p.Request, p.shape, p.Retention, p.Margin)
	}
	if tool.MaxProcessing > 0 {
		add("max_processing %s", tool.MaxProcessing)
	}
	if p := tool.Reconcile; p != nil {
		add("reconcile %s %s %q %q %q %q %s %q %q %s %s %t", p.Tool, p.args.meaning(), p.found.text(), p.id.text(), p.url.text(), p.token.text(),
			p.result.meaning(), p.next.text(), p.cursor, p.Lag, p.GiveUp, p.Inline)
	}
	if r := tool.Resource; r != nil {
		add("resource %s %q", r.Get, r.ID)
	}
	if s := tool.Subject; s != nil {
		add("revision %s %s %q %q", s.Tool, s.args.meaning(), s.pointer, s.value.text())
	}
	return list
}

func fingerprintHash(rules deed.FingerprintRules) string {
	program, err := canon.CompileWith(canon.Rules(rules), canonOptions())
	if err != nil {
		return err.Error()
	}
	return program.Hash()
}

func denySources(rules []DenyRule) []string {
	var list []string
	for _, rule := range rules {
		list = append(list, rule.When.Source(), rule.Reason)
	}
	return list
}

func failedSources(rules []FailedRule) []string {
	var list []string
	for _, rule := range rules {
		text, code := "", ""
		if rule.Text != nil {
			text = rule.Text.String()
		}
		if rule.Code != nil {
			code = fmt.Sprint(*rule.Code)
		}
		source := fmt.Sprintf("%q %s %t %t %s", text, code, rule.Final, rule.AnyResult, rule.RetryAfter)
		if rule.Status != 0 {
			source += fmt.Sprintf(" %d %t", rule.Status, rule.RetryAfterRequired)
		}
		list = append(list, source)
	}
	return list
}

func sources(values []Value) []string {
	var list []string
	for _, v := range values {
		list = append(list, v.Source)
	}
	return list
}

func sourceMap(values map[string]Value) map[string]string {
	all := map[string]string{}
	for name, v := range values {
		all[name] = v.Source
	}
	return all
}
