// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package temporal guards the Activities of a Temporal worker: one that changes
// the world happens at most once for the key of its business operation, however
// often Temporal runs it, and every repeat gets the stored result.
//
// Temporal runs an Activity again when its worker died, its answer was lost or
// its timeout has passed: at least once, by design. [New] returns an interceptor
// for [worker.Options].Interceptors. It lets an Activity run only with an attempt
// that the Runtime granted; where an earlier attempt may have had its effect, the
// Activity fails with a [Report] that Temporal retries, durably, until evidence
// or a person settles it. A Workflow names the operation with [WithKey].
//
// It is not a way to run Workflows exactly once, which Temporal does by itself,
// and it guards no Activity whose worker lacks it.
//
// Temporal's own package has this name too; import this one as deedtemporal.
package temporal
