// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/loopback"
)

// checkConfig refuses what only the whole file shows.
func (d *decoder) checkConfig(root place, config *Config) {
	if at, ok := d.written(root, "listen"); ok && len(config.Auth.Tokens) == 0 && config.Auth.JWT == nil && !d.refused(at.path) {
		if !loopback.Is(loopback.Host(config.Listen)) {
			d.refuse(at, config.Listen+" can be reached from other machines, and neither tokens nor an issuer of tokens are declared",
				"write auth.tokens or auth.jwt, or listen on 127.0.0.1")
		}
	}
	d.checkForwarding(root, config)
	d.describedTools(root, config)
	d.checkReaders(config)
	if defaults, ok := d.written(root, "defaults"); ok {
		d.checkTerms(defaults, config.Defaults.Terms, Terms{}, nil)
	}
}

// checkForwarding refuses to hand on the header by which this gateway knows its
// callers: with their token, the API could call, read and approve as they do.
func (d *decoder) checkForwarding(root place, config *Config) {
	by := ""
	switch {
	case len(config.Auth.Tokens) > 0:
		by = "auth.tokens"
	case config.Auth.JWT != nil:
		by = "auth.jwt"
	default:
		return
	}
	apis, ok := d.written(root, "http")
	if !ok {
		return
	}
	for _, e := range d.entries(apis) {
		at, written := d.written(e.value, "forward_credentials")
		if written && config.HTTP[e.name].ForwardCredentials && !d.refused(at.path) {
			d.refuse(at, "hands the caller's Authorization on, which holds the token that "+by+" knows the caller by",
				"remove it, and write the API's own credentials in headers")
		}
	}
}

// checkTool refuses rules of one tool that contradict one another.
func (d *decoder) checkTool(e entry, tool Tool, defaults Terms) {
	if tool.Effect == deed.EffectReadOnly {
		for _, name := range []string{"key", "identity", "scope", "matter", "twins", "receipt", "failed", "approval", "budget", "marker", "client_id", "provider_key", "max_processing", "reconcile", "resource", "revision"} {
			if at, ok := d.written(e.value, name); ok {
				d.refuse(at, "has no meaning for a tool that is read_only", "remove it, or write another effect")
			}
		}
		return
	}
	d.checkIdentity(e, tool)
	d.checkTerms(e.value, tool.Terms, defaults, tool.Approval)
}

// checkStatuses refuses HTTP statuses where no HTTP is spoken.
func (d *decoder) checkStatuses(e entry, tool Tool, config *Config) {
	if len(config.Upstreams[deed.Tool(e.name).Upstream()].Command) == 0 || d.refused(e.key.path) {
		return
	}
	for _, rule := range tool.Failed {
		if rule.Status != 0 {
			at := d.inside(e.value, "failed")
			for i, item := range d.items(at, "rules") {
				if status, ok := d.written(item, "status"); ok {
					d.refuse(status, "is an HTTP status, and the upstream is a command", fmt.Sprintf("remove it, or write failed[%d].text", i))
				}
			}
			return
		}
	}
}

func (d *decoder) checkIdentity(e entry, tool Tool) {
	at, ok := d.written(e.value, "identity")
	if !ok {
		return
	}
	switch {
	case tool.Identity == deed.FamilySecret && len(tool.Key.From) > 0:
		d.refuse(at, "is secret, and a derived key is none", "write key: runtime, or identity: operation")
	case tool.Identity == deed.FamilySecret && tool.Key.Need != deed.NeedRuntime:
		d.refuse(at, "is secret, and key: "+string(tool.Key.Need)+" would put it before the model", "write key: runtime")
	case tool.Identity == deed.FamilyCreation && tool.Key.Need == deed.NeedOptional:
		d.refuse(at, "names what is created before it is, and key: optional lets calls without a name pass", "write key: required or key: runtime")
	}
}

// checkTerms refuses times that contradict one another. Those that are as in
// the outer terms have been judged there.
func (d *decoder) checkTerms(at place, terms, outer Terms, approval *Approval) {
	if terms.Timeout > terms.TimeoutHard && (terms.Timeout != outer.Timeout || terms.TimeoutHard != outer.TimeoutHard) {
		where := d.first(at, "timeout", "timeout_hard")
		d.refuse(where, "timeout "+short(terms.Timeout)+" is longer than timeout_hard "+short(terms.TimeoutHard)+", which would end the call first",
			"write timeout_hard: "+short(terms.Timeout)+" or more beside it")
	}
	// What waits for no person now may do so once the file is edited.
	standard := defaultApproval().Expires
	expires := standard
	if approval != nil {
		expires = approval.Expires
	}
	needed := terms.MaxAge + expires
	if terms.Retention < needed && (terms.Retention != outer.Retention || terms.MaxAge != outer.MaxAge || expires != standard) {
		where := d.first(at, "retention", "max_age", "approval")
		if block, ok := d.written(at, "approval"); ok && expires != standard {
			where = d.first(block, "expires")
		}
		d.refuse(where, "retention "+short(terms.Retention)+" is shorter than max_age "+short(terms.MaxAge)+" and approval.expires "+
			short(expires)+" together, so that a record could be trimmed before its last dispatch",
			"write retention: "+short(needed)+" or more")
	}
}

// written finds a key of a mapping.
func (d *decoder) written(at place, name string) (place, bool) {
	mapping, ok := at.node.(*ast.MappingNode)
	if !ok {
		return at, false
	}
	for _, v := range mapping.Values {
		if text, ok := v.Key.(*ast.StringNode); ok && text.Value == name {
			return place{v.Value, at.child(name)}, true
		}
	}
	return at, false
}

// first finds the first key that is written, to point at it.
func (d *decoder) first(at place, names ...string) place {
	for _, name := range names {
		if found, ok := d.written(at, name); ok {
			return found
		}
	}
	return at
}

// refused reports whether the key has a problem already.
func (d *decoder) refused(path string) bool {
	for _, p := range d.found {
		if p.Key == path {
			return true
		}
	}
	return false
}
