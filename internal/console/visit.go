// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/deed-run/deed"
)

// visit is one request of somebody known.
type visit struct {
	http.ResponseWriter
	*http.Request
	console  *Console
	who      deed.Principal
	name     string
	loggedIn bool
	now      time.Time
}

// frame is what every page has around its own part.
type frame struct {
	Title string
	// Page names the template, Own what it shows.
	Page string
	Own  any
	Who  string
	Does string
	// LoggedIn is false for local reading.
	LoggedIn bool
	Local    bool
	CanEnter bool
	Known    bool
	Budgets  bool
	Theme    string
	Here     string
	Now      time.Time
	Done     string
	// Fence is the one that stands, for those who may look.
	Fence *Fence
}

// show answers with a page. It is rendered whole before any of it is sent, so
// that an error never looks like a short page.
func (v *visit) show(status int, page, title string, own any) {
	f := frame{
		Title: title, Page: page, Own: own, Who: v.name, Does: may(v.who), LoggedIn: v.loggedIn,
		Local: v.console.Local != nil && !v.loggedIn, CanEnter: v.console.Bootstrap != "",
		Known: v.who.Tenant != "" || v.loggedIn, Budgets: v.console.Budgets != nil,
		Theme: "auto", Here: v.URL.RequestURI(), Now: v.now, Done: doneWords(v.URL.Query().Get("done")),
	}
	if f.Known {
		f.Fence = v.console.fence()
	}
	if cookie, err := v.Request.Cookie("deed_theme"); err == nil {
		f.Theme = themeOf(cookie.Value)
	}
	v.render(status, page, "frame", f)
}

func (v *visit) render(status int, page, name string, data any) {
	var text bytes.Buffer
	if err := v.console.pages[page].ExecuteTemplate(&text, name, data); err != nil {
		v.console.plain(v, http.StatusInternalServerError, "The page could not be made. Nothing was changed.")
		return
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	v.WriteHeader(status)
	_, _ = v.Write(text.Bytes())
}

// Header is that of the answer; the request's is v.Request.Header.
func (v *visit) Header() http.Header { return v.ResponseWriter.Header() }

// Write writes the answer.
func (v *visit) Write(p []byte) (int, error) { return v.ResponseWriter.Write(p) }

// partial reports whether a script asks for a piece of a page.
func (v *visit) partial() bool {
	h := v.Request.Header
	return h.Get("HX-Request") == "true" && h.Get("HX-History-Restore-Request") != "true"
}

func (v *visit) id() deed.OperationID { return deed.OperationID(v.PathValue("id")) }

// failure is a page that says what went wrong and what was not done.
type failure struct {
	Status int
	Head   string
	Text   string
	// Back is where to go on, and Way what that is called, "" for another look.
	Back string
	Way  string
}

// failed answers for an error of the Runtime.
func (v *visit) failed(err error) {
	f := v.failureOf(err)
	if f.Status == http.StatusNotFound {
		f.Back, f.Way = "/ledger", "To the ledger"
	} else if v.Method == http.MethodGet {
		f.Back = v.URL.RequestURI()
	} else if id := v.PathValue("id"); id != "" {
		f.Back = "/op/" + id
	}
	v.show(f.Status, "failure", f.Head, f)
}

func (v *visit) failureOf(err error) failure {
	var refused *deed.RefusedError
	var damaged *deed.DamagedError
	switch {
	case errors.Is(err, deed.ErrNotFound):
		return failure{http.StatusNotFound, "There is no such operation", "It does not exist, or it is not yours to see.", "", ""}
	case errors.Is(err, deed.ErrForbidden):
		return failure{http.StatusForbidden, "You may not do this", err.Error() + ". Nothing was changed.", "", ""}
	case errors.As(err, &refused):
		return failure{http.StatusConflict, "It has moved on", refused.Error() + ". Nothing was changed by you.", "", ""}
	case errors.Is(err, deed.ErrVersion):
		return failure{http.StatusConflict, "Somebody was faster", "The operation has changed since you opened the page. Nothing was changed by you. Look at it again.", "", ""}
	case errors.Is(err, deed.ErrCommitUnknown):
		return failure{http.StatusServiceUnavailable, "Look again", "The ledger did not confirm the change: it may be recorded or not. Look at the operation again.", "", ""}
	case errors.Is(err, deed.ErrUnavailable), errors.Is(err, deed.ErrLedgerVersion), errors.Is(err, deed.ErrClosed):
		return failure{http.StatusServiceUnavailable, "The ledger does not answer", "The question could not be answered, which is not the same as an empty answer. Nothing was changed.", "", ""}
	case errors.As(err, &damaged):
		return failure{http.StatusInternalServerError, "The record is damaged", err.Error() + ". It is not shown, and nothing was changed. Restore the ledger; or settle it without its arguments: " + v.cli("show", damaged.Operation.ID) + " names the commands.", "", ""}
	case errors.Is(err, deed.ErrUnchecked):
		return failure{http.StatusServiceUnavailable, "The edit could not be checked", err.Error() + ". Nothing was changed.", "", ""}
	}
	return failure{http.StatusInternalServerError, "Something unforeseen went wrong", "The question could not be answered. If you were changing something, look whether it is recorded.", "", ""}
}

func (v *visit) nowhere() {
	v.show(http.StatusNotFound, "failure", "There is no such page", failure{Head: "There is no such page", Text: "The address is wrong or from another version.", Back: "/", Way: "To the overview"})
}

// forbidden says which right an action takes, before the Runtime is asked.
func (v *visit) lacks(right deed.Right) bool {
	if v.who.May(right) {
		return false
	}
	text := "It takes the right “" + string(right) + "”. Nothing was changed."
	if v.console.Local != nil && !v.loggedIn {
		text = "Without logging in this console only reads. Log in with the token that the process printed when it started. Nothing was changed."
	}
	v.show(http.StatusForbidden, "failure", "You may not do this", failure{Status: http.StatusForbidden, Head: "You may not do this", Text: text, Back: "/op/" + v.PathValue("id")})
	return true
}

// onTo answers a form with the page to look at next.
func (v *visit) onTo(path, done string) {
	http.Redirect(v, v.Request, path+"?done="+done, http.StatusSeeOther)
}

// doneWords are what a page says after a form: only these, since anybody can
// write an address.
func doneWords(word string) string {
	switch word {
	case "committed":
		return "Recorded: it happened."
	case "not_applied":
		return "Recorded: it did not happen. The next call under its key may send it again."
	case "abandon":
		return "Abandoned: nothing more is tried."
	case "cancelled":
		return "Recorded: no further attempt is made."
	case "reopened":
		return "Reopened: the next call under its key may send it again."
	case "approved":
		return "Approved. It is sent at most once."
	case "agreed":
		return "Your consent is recorded; others must agree too."
	case "denied":
		return "Denied. Your reason goes to the agent."
	case "edited":
		return "Edited and approved: the new operation takes the place of the old one."
	case "probed":
		return "The provider was asked; the history says what it answered."
	}
	return ""
}
