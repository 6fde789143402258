// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package httpgate lets HTTP requests that change things happen at most once per
// Idempotency-Key: as middleware in front of a program's own handlers, and as a
// reverse proxy in front of a REST API.
//
// It decides nothing itself: every request on a route passes a [deed.Runtime],
// which grants at most one attempt at a time. This package names the effect
// (method, path, query, body), sends the frozen request once, reads the answer,
// and answers repeats from the record. It never re-sends a request, follows no
// redirect, and is no cache.
//
// Begin with [NewRoutes], give its [Routes.Policy] to deed.New, then [New], and
// put [Gate.Middleware] or [Gate.Proxy] in front.
package httpgate
