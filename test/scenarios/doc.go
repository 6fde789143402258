// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package scenarios plays thirty failures that people have reported in public
// against the deed binary, with a provider that counts what really happened.
//
// A story passes when the provider's own books are right: how many requests it
// received and how many effects it made. What deed recorded and answered comes
// second. Each story is played at three doors (deed mcp over stdio; deed serve
// over Streamable HTTP with sessions of 2025-11-25 and without of 2026-07-28), by a
// client that does as it is told and by two scripted agents that see nothing but
// text: NAIVE follows every nudge to try again, under a new key and in other
// words; TIMID stops at the first thing that looks like an error, unless the text
// says to make the same call again. The package is no test of deed's parts and
// links none of them.
//
// By default every story meets every door (rows of tables one of them) and each
// agent meets it at one door; DEED_CAMPAIGN=1 plays the whole matrix of doors,
// agents, faults and crash points, which takes some fifteen minutes.
//
//	scenario  state    why, or which part
//	A01       played
//	A03       played
//	A10       played
//	A12       played   the trusted refusal over stdio upstreams; rules for HTTP statuses come with the HTTP door
//	A15       partly   without the approval
//	B03       played
//	B06       played
//	B07       played
//	C02       played
//	C03       partly   the human's question is a tool that waits; approvals are to come
//	D01       played
//	D08       left     keyless routes belong to the HTTP door
//	D11       played   never dispatched means proved not sent; the approved ones come with approvals
//	D16       played   the ledger locked by another program; a refused connection comes with PostgreSQL
//	D17       played   the hundred kills at random moments are those of test/kills
//	E01       played   resolved with deed ops; the link comes with the console
//	E06       played   a provider that refuses connections; there is no breaker of deed's own
//	E07       played   the HTTP header comes with the HTTP door
//	E10       played   SQLite; PostgreSQL is to come
//	K01       played
//	K05       played
//	K09       played   over two tools and two tickets; routes come with the HTTP door
//	F03       partly   the rule refuses; asking a person instead comes with approvals
//	F09       left     approvals
//	F12       left     approvals
//	F18       partly   two hundred claims have one winner; the crash between approval and dispatch comes with approvals
//	G01       partly   the retry is held; re-presenting the same bytes comes with provider keys
//	G04       left     budgets
//	H01       played
//	L05       played
//
// The whole package waits for the real time only where a lease or a time-out is
// the subject; ages are made with a shifted clock, crashes at named points.
package scenarios
