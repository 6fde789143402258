// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
)

// familyMarker keeps the markers of operations in the index of keys, so that
// a confirmation which carries one finds its operation.
const familyMarker Family = "marker"

// planter makes what is written into calls so that they can be found again.
// Everything is an HMAC under a secret of the tenant: whoever sees it at the
// provider learns nothing, and cannot make another.
type planter struct {
	secret []byte
	rule   Rule
}

// planterFor returns nil when the rule neither plants nor presents anything.
func (rt *Runtime) planterFor(ctx context.Context, tenant Tenant, rule Rule) (*planter, error) {
	if rule.Planting == nil && rule.ProviderKey == nil {
		return nil, nil
	}
	secret, err := rt.secret(ctx, "marks/"+string(tenant))
	if err != nil {
		return nil, err
	}
	return &planter{secret: secret, rule: rule}, nil
}

// own returns 32 bytes that belong to the operation and to one purpose.
func (p *planter) own(purpose string, id OperationID) (out [32]byte) {
	mac := hmac.New(sha256.New, p.secret)
	mac.Write([]byte(purpose + "\x00" + string(id)))
	mac.Sum(out[:0])
	return out
}

// markerLength is the number of base32 characters of a marker: 130 bits.
const markerLength = 26

// marks are those of an operation. A provider key in use is passed in.
func (p *planter) marks(id OperationID, providerKey string) Marks {
	marks := Marks{ProviderKey: providerKey}
	if p.rule.Planting == nil {
		return marks
	}
	raw := p.own("marker", id)
	marks.Marker = base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw[:])[:markerLength]
	if p.rule.Planting.ClientID != nil {
		marks.ClientID = p.rule.Planting.ClientID(p.own("client id", id))
	}
	return marks
}

// errPlanting: the arguments have no place for the marks.
var errPlanting = errors.New("the mark by which the effect is found again cannot be written into the arguments")

// plant returns the arguments as they will be sent.
func (p *planter) plant(arguments []byte, id OperationID, providerKey string) ([]byte, error) {
	if p == nil || p.rule.Planting == nil || p.rule.Planting.Plant == nil {
		return arguments, nil
	}
	planted, err := p.rule.Planting.Plant(arguments, p.marks(id, providerKey))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPlanting, err)
	}
	return planted, nil
}

// markerKey is the entry of an operation's marker in the index of keys.
func markerKey(marker string) Key {
	return Key{Family: familyMarker, Text: marker, Generation: 1, Provenance: ProvenanceNone}
}
