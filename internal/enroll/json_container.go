// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

func (s *jsonScanner) object(depth int) (node, error) {
	n := node{kind: objectNode, start: s.at}
	err := s.list('}', func() error {
		if s.peek() != '"' {
			return s.fail(s.at, "expected a member name in double quotes, found %s", s.describe())
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if err := s.space(); err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.fail(s.at, "expected ':' after the member name %q, found %s", key.text, s.describe())
		}
		s.at++
		if err := s.space(); err != nil {
			return err
		}
		v, err := s.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key: []string{key.text}, keyStart: key.start, keyEnd: key.end, value: v})
		return nil
	})
	n.end = s.at
	return n, err
}

func (s *jsonScanner) array(depth int) (node, error) {
	n := node{kind: arrayNode, start: s.at}
	err := s.list(']', func() error {
		v, err := s.value(depth + 1)
		n.elements = append(n.elements, v)
		return err
	})
	n.end = s.at
	return n, err
}

// list reads an opening bracket, items parted by commas, and the closing
// bracket. A comma before the closing bracket needs relaxed.
func (s *jsonScanner) list(closing byte, item func() error) error {
	open := s.at
	s.at++
	for first := true; ; first = false {
		if err := s.space(); err != nil {
			return err
		}
		if s.peek() == closing && first {
			s.at++
			return nil
		}
		if !first {
			switch s.peek() {
			case closing:
				s.at++
				return nil
			case ',':
			default:
				if s.at == len(s.src) {
					return s.fail(open, "the bracket %q opened here is never closed", s.src[open])
				}
				return s.fail(s.at, "expected ',' or %q, found %s", closing, s.describe())
			}
			comma := s.at
			s.at++
			if err := s.space(); err != nil {
				return err
			}
			if s.peek() == closing {
				if !s.relaxed {
					return s.fail(comma, "a comma before %q, which this client does not accept", closing)
				}
				s.at++
				return nil
			}
		}
		if s.at == len(s.src) {
			return s.fail(open, "the bracket %q opened here is never closed", s.src[open])
		}
		if err := item(); err != nil {
			return err
		}
	}
}
