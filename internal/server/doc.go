// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package server serves the HTTP API /v1 of a gateway: calls of configured
// tools, claims of programs that carry out effects themselves, operations and
// what people do with them. It describes itself at /openapi.json.
//
// It decides nothing: a Runtime does. It calls no tool itself either: [Tools]
// does. It is not the reverse proxy in front of foreign APIs.
//
// Start with [New].
package server
