// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package scenarios plays thirty failures that people have reported in public
// against the deed binary, with a provider that counts what really happened.
//
// A story passes when the provider's own books are right: how many requests it
// received and how many effects it made. What deed recorded and answered comes
// second. Stories are played at three doors of models (deed mcp over stdio; deed serve
// over Streamable HTTP with sessions of 2025-11-25 and without of 2026-07-28), by a
// client that does as it is told and by two scripted agents that see nothing but
// text: NAIVE follows every nudge to try again, under a new key and in other
// words; TIMID stops at the first thing that looks like an error, unless the text
// says to make the same call again. The package is no test of deed's parts and
// links none of them.
//
// Beside these doors for models there are two for programs: /v1, and an API behind
// the reverse proxy. Every story is played over a ledger in SQLite or PostgreSQL
// and with one or two gateways, to which the calls go in turn. By default a story
// meets two of these places (rows of tables one), each agent one, and all stories
// together every door, ledger and number; DEED_CAMPAIGN=1 plays the whole matrix.
//
//	scenario  state    what stands for what, or what is left
//	A01       played   also with look-ups that find it, that cannot answer, and that prove its absence
//	A03       played
//	A10       played   mails over SMTP and IMAP are those of connector/mail
//	A12       played   trusted by text over MCP, by status over HTTP and on a route
//	A15       played   with its approval and without
//	B03       played
//	B06       played
//	B07       played
//	C02       played
//	C03       played   the human is a tool that waits, and an approval
//	D01       played
//	D08       played
//	D11       played   over SQLite, because PostgreSQL keeps its own time
//	D16       played   the ledger locked by another program, or a database that lets nobody in; a server that is down belongs to test/replicas
//	D17       played   the hundred kills at random moments are those of test/kills
//	E01       played   resolved with deed ops
//	E06       played   a provider that refuses connections; there is no breaker of deed's own
//	E07       played   at the proxy by its header
//	E10       played
//	K01       played
//	K05       played
//	K09       played   over tools, tickets, and the paths of a route
//	F03       played
//	F09       played   also with an approval given elsewhere
//	F12       played   where the gateway runs what is approved: at the proxy the next call does
//	F18       played   the kills between approval and dispatch are those of test/consent
//	G01       played   held without a key of the provider's, presented again under one
//	G04       played   sixty-four spenders are those of test/consent
//	H01       played   at the doors of models
//	L05       played
//
// The whole package waits for the real time only where a lease or a time-out is
// the subject; ages are made with a shifted clock, crashes at named points.
package scenarios
