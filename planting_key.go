// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"encoding/hex"
	"strconv"
	"time"
)

// providerKey is the key under which the next attempt of an operation is
// presented: the one it already has, unless a person asked for another, and
// otherwise a new one in the provider's alphabet. It is the same however
// often it is asked for, so that the bytes that carry it can be frozen before
// anything is sent.
func (p *planter) providerKey(id OperationID, attempts []Attempt) string {
	serial := 0
	for _, a := range attempts {
		if a.NewProviderKey {
			serial++
		}
	}
	if n := len(attempts); n > 0 && !attempts[n-1].NewProviderKey && attempts[n-1].ProviderKey != "" {
		return attempts[n-1].ProviderKey
	}
	if p == nil || p.rule.ProviderKey == nil {
		return ""
	}
	raw := p.own("provider key "+strconv.Itoa(serial), id)
	if p.rule.ProviderKey.Mint != nil {
		return p.rule.ProviderKey.Mint(raw)
	}
	return uuid4(raw)
}

// uuid4 formats 16 bytes as a version 4 UUID (RFC 9562 section 5.4).
func uuid4(raw [32]byte) string {
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	text := hex.EncodeToString(raw[:16])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// presentable reports whether the provider still takes the operation's key for
// the same request until a further attempt has left: counted from the first
// attempt that carried the key, by the later of the ledger's clock and the
// observer's own. Every attempt that may have been applied must have carried
// it, where it would be carried now.
func presentable(op *Operation, rule Rule, now time.Time, watched time.Duration) bool {
	current := op.Current()
	if rule.ProviderKey == nil || current == nil || current.ProviderKey == "" || current.NewProviderKey {
		return false
	}
	var first time.Time
	for i, a := range op.Attempts {
		if a.ProviderKey != current.ProviderKey {
			if a.Open() {
				return false
			}
			continue
		}
		if a.Open() && !samePlace(op, &op.Attempts[i], rule) {
			return false
		}
		if first.IsZero() {
			first = a.BegunAt
		}
	}
	age := max(now.Sub(first), watched)
	return age+rule.Lease+rule.ProviderKey.Margin < rule.ProviderKey.Retention
}

// firstPresented is the number of the first attempt that carried the present
// key, 0 if there is none.
func (op *Operation) firstPresented() int {
	current := op.Current()
	if current == nil || current.ProviderKey == "" {
		return 0
	}
	for _, a := range op.Attempts {
		if a.ProviderKey == current.ProviderKey {
			return a.Number
		}
	}
	return 0
}
