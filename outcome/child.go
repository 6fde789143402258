// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcome

import "github.com/deed-run/deed"

// ChildExit classifies the end of a child process that owed an answer. written is how many bytes of the request its standard input took: a
// pipe hands over what it took, so that only none at all proves that nothing was done. state is the exit state, for people.
func ChildExit(written int64, state string) deed.Outcome {
	return Lost(written == 0, "the server process ended: "+state)
}
