// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import "github.com/deed-run/deed"

// everyRight is what whoever started the process may do here. Calling tools is
// not among it: a person at a page is no agent.
func everyRight() []deed.Right {
	return []deed.Right{deed.RightRead, deed.RightApprove, deed.RightResolve, deed.RightAdmin}
}

// may says in one word what a principal does here: the role whose rights it
// has. Each role may do what those before it may.
func may(who deed.Principal) string {
	switch {
	case who.May(deed.RightAdmin):
		return "admin"
	case who.May(deed.RightResolve):
		return "operator"
	case who.May(deed.RightApprove):
		return "approver"
	}
	return "viewer"
}
