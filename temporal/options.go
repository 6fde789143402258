// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/deed-run/deed"
)

// Options configure the interceptor of a worker. Runtime and Principal are
// required.
type Options struct {
	// Runtime decides. Workers on several machines share one ledger, package
	// postgres. Stop the worker before closing the Runtime.
	Runtime *deed.Runtime
	// Principal is in whose name Activities call: a tenant, an actor and
	// [deed.RightCall].
	Principal deed.Principal
	// Upstream is the first part of the tools' names, which are
	// "UPSTREAM/ActivityType" in rules and in the ledger. Empty means "temporal".
	Upstream string
	// Derive builds the key of an Activity that neither [WithKey] nor its tool's
	// rule names, as [deed.KeyRule].From does: pointers into the arguments, and
	// "tool", "meta.namespace", "meta.workflow", "meta.run", "meta.activity".
	// Empty: such an Activity is denied with missing_operation_key and does not
	// run.
	Derive []string
	// Unguarded names the Activity types that pass as if deed were not there.
	Unguarded []string
	// Prepare, when set, changes the call before it is decided: its key, its
	// tool, its principal, its meta; also its arguments, with which the Activity
	// then runs. With an error it does not run.
	Prepare func(ctx context.Context, info activity.Info, call *deed.Call) error
	// Classify, when set, says what an Activity's error proves: it returns the
	// error wrapped by [deed.NotSent] or [deed.Refused], or nil to leave it as it
	// is. It is not asked about read-only Activities. An error
	// that nobody wrapped makes the operation uncertain, a non-retryable one too:
	// "do not try again" is not "it did not happen".
	Classify func(info activity.Info, err error) error
}

const defaultUpstream = "temporal"

// sessionActivities are those by which Temporal's SDK keeps worker sessions.
var sessionActivities = []string{"internalSessionCreationActivity", "internalSessionCompletionActivity"}

// New returns the interceptor for [worker.Options].Interceptors, of the workers
// that run the Activities and of those that run the Workflows which use
// [WithKey]. It is safe for concurrent use and may serve many workers.
func New(options Options) (interceptor.WorkerInterceptor, error) {
	switch who := options.Principal; {
	case options.Runtime == nil:
		return nil, errors.New("temporal: Options.Runtime is not set: nothing could be recorded")
	case who.Tenant == "" || who.Actor == "":
		return nil, errors.New("temporal: Options.Principal names no tenant or no actor: set both")
	case !who.May(deed.RightCall):
		return nil, fmt.Errorf("temporal: Options.Principal (%s of %s) may not call: no Activity could run; give it deed.RightCall", who.Actor, who.Tenant)
	}
	if options.Upstream == "" {
		options.Upstream = defaultUpstream
	}
	if strings.Contains(options.Upstream, "/") {
		return nil, fmt.Errorf("temporal: Options.Upstream %q has a slash, which ends it in a tool's name: leave it out", options.Upstream)
	}
	g := &guard{options: options, passing: map[string]bool{}}
	for _, name := range append(sessionActivities, options.Unguarded...) {
		g.passing[name] = true
	}
	return g, nil
}
