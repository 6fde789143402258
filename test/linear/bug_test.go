// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package linear_test

import (
	"context"
	"errors"

	"github.com/deed-run/deed"
)

// checkThenInsert is a wrong Store on purpose: it looks first and then inserts
// what it decided, with ON CONFLICT DO NOTHING as it were, and does not look at
// what that did.
type checkThenInsert struct{ deed.Store }

func (s *checkThenInsert) Transact(ctx context.Context, scope deed.Scope, change func(deed.View) (deed.Change, error)) (deed.View, error) {
	view, err := s.Load(ctx, scope)
	if err != nil {
		return view, err
	}
	wanted, err := change(view)
	if err != nil {
		return view, err
	}
	_, err = s.Store.Transact(ctx, scope, func(deed.View) (deed.Change, error) { return wanted, nil })
	if errors.Is(err, deed.ErrKeyTaken) || errors.Is(err, deed.ErrVersion) {
		err = nil
	}
	return view, err
}
