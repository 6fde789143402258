// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

type nodeKind int

const (
	scalarNode nodeKind = iota // number, boolean, null, date: known by its source text
	stringNode
	arrayNode
	objectNode
)

// node is a value of a configuration file with its place in the source, so that
// one value can be replaced without touching any other byte.
type node struct {
	kind       nodeKind
	start, end int    // source bytes [start, end)
	text       string // the decoded string, or the source text of a scalar
	elements   []node
	members    []member
}

// member is one key and value. TOML keys may be dotted; JSON keys have exactly
// one part.
type member struct {
	key              []string
	keyStart, keyEnd int
	value            node
}

// texts returns the elements of an array of strings.
func (n node) texts() ([]string, bool) {
	if n.kind != arrayNode {
		return nil, false
	}
	all := make([]string, 0, len(n.elements))
	for _, e := range n.elements {
		if e.kind != stringNode {
			return nil, false
		}
		all = append(all, e.text)
	}
	return all, true
}

// maxDepth bounds nesting, so that a hostile file cannot exhaust the stack.
const maxDepth = 200
