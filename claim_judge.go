// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"

	"github.com/deed-run/deed/internal/canon"
)

// check runs what is expensive or foreign once, outside the transaction: the
// tool's own schema and the policy's conditions.
func (c *claim) check() {
	if c.checked {
		return
	}
	c.checked = true
	if c.call.Validate != nil {
		c.invalid = c.call.Validate(c.call.Arguments)
	}
	if c.rule.Deny != nil {
		c.refusedText = c.rule.Deny(c.call.Arguments, c.principal())
	}
	c.needsApproval, c.snapshot = c.wantsConsent(c.call.Arguments), nil
	if c.rule.Spend != nil {
		c.price, c.noPrice = c.priceOf(c.call.Arguments)
	}
}

func (c *claim) fingerprint(r ruled) (Fingerprint, error) {
	arguments, err := c.effectArguments()
	if err != nil {
		return "", err
	}
	f, err := r.program.Fingerprint(string(c.rule.Tool), arguments)
	return Fingerprint(f), err
}

func (c *claim) allFingerprints() []Fingerprint {
	list := []Fingerprint{c.fingerprints[c.ruled.rules]}
	for rules, fingerprint := range c.fingerprints {
		if rules != c.ruled.rules && fingerprint != "" {
			list = append(list, fingerprint)
		}
	}
	return list
}

// learnRules computes the call's fingerprint under the rules of every record
// in the view that has others.
func (c *claim) learnRules(ctx context.Context, view View) error {
	for _, hash := range rulesOf(view) {
		if _, known := c.fingerprints[hash]; known {
			continue
		}
		program, err := c.rt.programFor(ctx, hash)
		if err != nil {
			return err
		}
		if program == nil || c.marked() {
			c.gone[hash] = true
			continue
		}
		fingerprint, err := c.fingerprint(ruled{program: program})
		if err != nil {
			// Arguments that those rules refuse are equal to nothing that they
			// admitted.
			fingerprint = ""
		}
		c.fingerprints[hash] = fingerprint
	}
	return nil
}

// rulesOf lists the rule sets of the records in a view.
func rulesOf(view View) []Digest {
	list := append([]Digest(nil), view.OtherRules...)
	if view.Operation != nil {
		list = append(list, view.Operation.FingerprintRules)
	}
	for _, op := range view.Lineage {
		list = append(list, op.FingerprintRules)
	}
	return list
}

func (c *claim) inquiry(view View) inquiry {
	q := inquiry{
		now: view.Now, arrived: c.rt.ledgerClock.at(c.arrived, view.Now, c.rt.clock.Now()), principal: c.principal(), rule: c.rule,
		facts: c.call.Facts, provenance: c.named.provenance, fingerprints: c.fingerprints,
		current: c.ruled.rules, claimed: c.call.EffectFingerprint, matter: c.matter,
		joined: c.joined, patient: c.patient(), ranBeside: c.ranBeside, view: view,
	}
	if op := view.Operation; op != nil && c.rule.ProviderKey != nil {
		q.watched = c.rt.sights.age(op, op.firstPresented(), c.rt.clock.Now())
	}
	if c.call.ManualLease {
		q.claimToken = c.call.ClaimToken
	}
	if c.followed {
		// The key that the caller gave is what its rules of age are about.
		q.view.Found.Provenance = c.named.provenance
	}
	q.needsApproval, q.checked, q.consents = c.needsApproval, c.checked, c.call.Consent != nil
	if next := c.call.Continuation; next != nil {
		q.continues, q.state, q.inputs = true, digestOf(next.State), digestOf(next.Inputs)
	}
	return q
}

// effectArguments are the arguments without the tool's own key argument.
func (c *claim) effectArguments() ([]byte, error) {
	if c.call.KeyArgument == "" {
		return c.call.Arguments, nil
	}
	rest, _, _, err := canon.Without(c.call.Arguments, c.call.KeyArgument)
	return rest, err
}
