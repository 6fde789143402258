// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package connector makes tools out of plain HTTP APIs, described in YAML: how arguments become a request, what the provider's answers prove,
// how its own idempotency key is carried, and how an effect is found again. It also ships the catalogue of what is known of providers.
//
// It is no client library and decides nothing: a [Connector] sends what an attempt was permitted to send, once, and says what came of it by
// the tables of package outcome. Redirects are not followed, nothing is sent twice, and what has no proof is unknown.
//
// Start with [Load]; [Providers] lists the catalogue, [ImportOpenAPI] writes a first description of an API.
package connector
