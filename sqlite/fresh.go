// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import "github.com/deed-run/deed"

// fresh answers a claim of which nothing is in the ledger, as most are, by one
// statement, which stays open so that what follows reads the same snapshot. What
// it is not sure of is read piece by piece.
func (l *loader) fresh() (bool, error) {
	if l.scope.Tool == "" || l.scope.ID != "" || len(l.scope.Keys) != 1 || l.scope.Keys[0].Generation == 0 ||
		len(l.scope.Fingerprints) != 1 || len(l.scope.Matters) > 1 {
		return false, nil
	}
	key, matter := l.scope.Keys[0], deed.Matter("")
	if len(l.scope.Matters) == 1 {
		matter = l.scope.Matters[0]
	}
	s := l.use(stmtFresh)
	l.hold(s)
	bindKey(s, l.scope.Tenant, key)
	s.integer(int64(key.Generation))
	s.text(string(l.scope.Tool))
	s.digest(string(l.scope.Fingerprints[0]))
	s.text(string(matter))
	s.digest(string(l.scope.FingerprintRules))
	s.text(deed.ActiveSetting(l.scope.Tool))
	if !s.next() {
		return false, s.end()
	}
	active, there := s.readText(), s.readBoolean()
	if there {
		return false, nil
	}
	l.view.Active = deed.Digest(active)
	return true, l.money()
}
