// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"slices"

	"github.com/deed-run/deed"
)

// twins reads, for each fingerprint and each matter of the scope, every
// operation that is open and the newest of each status of the rest.
func (l *loader) twins() error {
	for _, fingerprint := range l.scope.Fingerprints {
		err := l.lane(stmtFingerprintTwins, func(s *statement) { s.digest(string(fingerprint)) })
		if err != nil {
			return err
		}
	}
	for _, matter := range l.scope.Matters {
		if matter == "" {
			continue
		}
		err := l.lane(stmtMatterTwins, func(s *statement) { s.text(string(matter)) })
		if err != nil {
			return err
		}
	}
	slices.SortFunc(l.view.Twins, func(a, b *deed.Operation) int { return cmp.Compare(b.ID, a.ID) })
	return nil
}

// lane walks one group of equals by standing: all of the open ones, then one
// of each other standing, skipping to the next as soon as one is found. Its
// cost does not grow with the number of settled equals.
func (l *loader) lane(id statementID, bindEqual func(*statement)) error {
	for from := int64(0); ; {
		s := l.use(id)
		s.text(string(l.scope.Tenant))
		s.text(string(l.scope.Tool))
		bindEqual(s)
		s.integer(from)
		settled := int64(0)
		for settled == 0 && s.next() {
			standing, err := l.twin(s)
			if err != nil {
				s.end()
				return err
			}
			settled = standing
		}
		if err := s.end(); err != nil || settled == 0 {
			return err
		}
		from = settled + 1
	}
}

// twin takes the row in unless it is the named operation itself or known
// already, and returns its standing; 0 for the operation itself, so that the
// walk goes on to the next of its standing.
func (l *loader) twin(s *statement) (int64, error) {
	column := s.column
	seq, standing := s.readInteger(), s.readInteger()
	if l.view.Operation != nil && l.seen[0].seq == seq {
		return 0, nil
	}
	if slices.ContainsFunc(l.view.Twins, func(op *deed.Operation) bool { return l.isAt(op, seq) }) {
		return standing, nil
	}
	s.column = column
	at, err := l.light(s)
	l.view.Twins = append(l.view.Twins, at.Operation)
	return standing, err
}

func (l *loader) isAt(op *deed.Operation, seq int64) bool {
	at, known := l.place(op.ID)
	return known && at.seq == seq
}

// refused reads the newest conflict of each operation that refused one of the
// fingerprints.
func (l *loader) refused() error {
	type refusal struct {
		seq int64
		deed.Refusal
	}
	var found []refusal
	for _, fingerprint := range l.scope.Fingerprints {
		s := l.use(stmtRefused)
		s.text(string(l.scope.Tenant))
		s.text(string(l.scope.Tool))
		s.digest(string(fingerprint))
		for s.next() {
			r := refusal{seq: s.readInteger()}
			id := deed.OperationID(s.readID(operationPrefix))
			r.At = s.readMoment()
			if i := slices.IndexFunc(found, func(f refusal) bool { return f.Operation.ID == id }); i >= 0 {
				if r.seq > found[i].seq {
					found[i].seq, found[i].At = r.seq, r.At
				}
				continue
			}
			by := l.use(stmtLightByID)
			by.text(string(l.scope.Tenant))
			by.operationID(string(id))
			if by.next() {
				at, err := l.light(by)
				if err != nil {
					s.end()
					by.end()
					return err
				}
				r.Operation = at.Operation
				found = append(found, r)
			}
			if err := by.end(); err != nil {
				s.end()
				return err
			}
		}
		if err := s.end(); err != nil {
			return err
		}
	}
	slices.SortFunc(found, func(a, b refusal) int { return cmp.Compare(b.seq, a.seq) })
	for _, r := range found {
		l.view.Refused = append(l.view.Refused, r.Refusal)
	}
	return nil
}

// otherRules hops from one set of rules to the next in the index.
func (l *loader) otherRules() error {
	s := l.use(stmtOtherRules)
	s.text(string(l.scope.Tenant))
	s.text(string(l.scope.Tool))
	s.integer(-1) // before every text and every digest
	for s.next() {
		rules := deed.Digest(s.readDigest())
		if err := s.end(); err != nil {
			return err
		}
		if rules != l.scope.FingerprintRules {
			l.view.OtherRules = append(l.view.OtherRules, rules)
		}
		s.param = 2
		s.digest(string(rules))
	}
	return s.end()
}
