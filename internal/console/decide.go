// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/deed-run/deed"
)

// maxReason bounds what a person writes into the ledger at once.
const maxReason = 2000

// reason reads the reason of a form; it says what is wrong with it.
func (v *visit) reason(needed bool) (text, wrong string) {
	text = strings.TrimSpace(v.PostFormValue("reason"))
	switch {
	case text == "" && needed:
		return "", "The reason is missing: say how you know. Nothing was changed."
	case len(text) > maxReason:
		return text, "The reason is longer than " + strconv.Itoa(maxReason) + " bytes. Nothing was changed."
	}
	return text, ""
}

func (v *visit) version() int64 {
	n, _ := strconv.ParseInt(v.PostFormValue("version"), 10, 64)
	return n
}

// resolve answers POST /op/{id}/resolve.
func (v *visit) resolve() {
	if v.lacks(deed.RightResolve) {
		return
	}
	form := resolveForm{Outcome: v.PostFormValue("outcome"), Remote: v.PostFormValue("remote_ids")}
	again := func(status int, problem string) {
		v.operationWith(status, func(p *operationPage) {
			p.Problem = problem
			if p.Resolve != nil {
				p.Resolve.Outcome, p.Resolve.Reason, p.Resolve.Remote = form.Outcome, form.Reason, form.Remote
			}
		})
	}
	var wrong string
	if form.Reason, wrong = v.reason(true); wrong != "" {
		again(http.StatusBadRequest, wrong)
		return
	}
	res := deed.Resolution{
		Outcome: deed.ResolutionOutcome(form.Outcome), Reason: form.Reason, Version: v.version(), Force: v.PostFormValue("force") == "yes",
	}
	switch res.Outcome {
	case deed.ResolveCommitted:
		res.RemoteIDs = strings.FieldsFunc(form.Remote, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' || r == ' ' })
	case deed.ResolveNotApplied, deed.ResolveAbandon:
	default:
		again(http.StatusBadRequest, "Say whether it happened. Nothing was changed.")
		return
	}
	if _, err := v.console.Runtime.Resolve(v.Context(), v.who, v.id(), res); err != nil {
		v.refused(err, again)
		return
	}
	v.onTo("/op/"+string(v.id()), string(res.Outcome))
}

// refused shows the operation again with what the Runtime said, so that
// nothing that was typed is lost; an operation that cannot be shown is an error
// page.
func (v *visit) refused(err error, again func(int, string)) {
	why := v.failureOf(err)
	if errors.Is(err, deed.ErrNotFound) {
		v.failed(err)
		return
	}
	again(why.Status, why.Head+". "+why.Text)
}

// cancel answers POST /op/{id}/cancel.
func (v *visit) cancel() { v.reasoned("cancelled", false, v.console.Runtime.Cancel) }

// reopen answers POST /op/{id}/reopen.
func (v *visit) reopen() {
	if !v.lacks(deed.RightResolve) {
		v.reasoned("reopened", true, v.console.Runtime.Reopen)
	}
}

func (v *visit) reasoned(done string, needed bool, act action) {
	if v.console.Local != nil && !v.loggedIn && v.lacks(deed.RightResolve) {
		return
	}
	again := func(status int, problem string) {
		v.operationWith(status, func(p *operationPage) { p.Problem = problem })
	}
	reason, wrong := v.reason(needed)
	if wrong != "" {
		again(http.StatusBadRequest, wrong)
		return
	}
	if _, err := act(v.Context(), v.who, v.id(), reason); err != nil {
		v.refused(err, again)
		return
	}
	v.onTo("/op/"+string(v.id()), done)
}

// probe answers POST /op/{id}/probe.
func (v *visit) probe() {
	if v.lacks(deed.RightResolve) {
		return
	}
	again := func(status int, problem string) {
		v.operationWith(status, func(p *operationPage) { p.Problem = problem })
	}
	if v.console.Probes == nil {
		again(http.StatusNotFound, "No look-up is configured here. Look at the provider yourself. Nothing was asked.")
		return
	}
	_, err := v.console.Probes.Reconcile(v.Context(), v.who, v.id())
	switch {
	case errors.Is(err, deed.ErrLookedUp):
		again(http.StatusConflict, "Somebody is looking it up at this moment. Nothing was asked a second time.")
	case err != nil:
		v.refused(err, func(status int, text string) {
			if status == http.StatusInternalServerError {
				text = "It could not be looked up: " + err.Error() + "."
			}
			again(status, text)
		})
	default:
		v.onTo("/op/"+string(v.id()), "probed")
	}
}
