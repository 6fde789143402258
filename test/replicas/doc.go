// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package replicas runs one, two and four gateways, as processes, on one
// ledger in SQLite and in PostgreSQL, and asks the provider how often something
// really happened. It has tests only. Start with fleet_test.go.
package replicas
