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
// Below each report stands, in parentheses, what of it is played and what stands for
// the rest. The codes are names of this list and of the tests, and mean nothing elsewhere.
//
//	scenario  state    what was reported
//	A01       played   the effect landed, the answer was lost, and the call is made again
//	                   (also with look-ups that find it, that cannot answer, and that prove its absence)
//	A03       played   a whole run is repeated because a later step failed; every call has a new id
//	A10       played   a mail is sent again for hours after a time-out, although it went out
//	                   (mails over SMTP and IMAP are those of connector/mail)
//	A12       played   a bare 503 after the effect is taken for a failure
//	                   (trusted by text over MCP, by status over HTTP and on a route)
//	A15       played   an approved refund goes out nine times, by retries and restarts
//	                   (with its approval and without)
//	B03       played   a client reconnects and sends the call again in a new session
//	B06       played   a hop delivers every call twice, milliseconds apart
//	B07       played   a person cancels, the server goes on, and a retry doubles the effect
//	C02       played   a resumed run repeats what it did before it paused
//	C03       played   a call that waits for a person makes its finished siblings run again
//	                   (the human is a tool that waits, and an approval)
//	D01       played   a queue delivers one message forty times
//	D08       played   a webhook comes twice within milliseconds, without a key
//	D11       played   a restart sends what was sent hours or days ago
//	                   (over SQLite, because PostgreSQL keeps its own time)
//	D16       played   the check for duplicates lets calls pass while its database is away
//	                   (the ledger locked by another program, or a database that lets nobody in; a server that is down belongs to test/replicas)
//	D17       played   a crash before or after the send is taken for "never started"
//	                   (the hundred kills at random moments are those of test/kills)
//	E01       played   a crash leaves the record in progress, and every retry blocked for days
//	                   (resolved with deed ops)
//	E06       played   a failure before anything was sent is stored, and replayed to every retry
//	                   (a provider that refuses connections; there is no breaker of deed's own)
//	E07       played   a replay cannot be told from a fresh answer
//	                   (at the proxy by its header)
//	E10       played   of callers at one moment the losers get errors in place of the answer
//	K01       played   the client's call id is taken for the key, and is new each time
//	K05       played   keys made of raw JSON differ by the order of members, null or spelling
//	K09       played   a record takes a call about one thing for a call about another
//	                   (over tools, tickets, and the paths of a route)
//	F03       played   an amount left to its default, or written as text, slips past the condition of an approval
//	F09       played   two runs read the same approval, and both act
//	                   (also with an approval given elsewhere)
//	F12       played   a restart loses what waits for a person
//	                   (where the gateway runs what is approved: at the proxy the next call does)
//	F18       played   an approval is used up, and its call never sent
//	                   (the kills between approval and dispatch are those of test/consent)
//	G01       played   a payment is signed anew after a lost reply, and settles twice
//	                   (held without a key of the provider's, presented again under one)
//	G04       played   parallel calls all pass the check of a budget before any is booked
//	                   (sixty-four spenders are those of test/consent)
//	H01       played   a model makes seventy equal calls at once
//	                   (at the doors of models)
//	L05       played   an unknown outcome is reported as "try again"
//
// The whole package waits for the real time only where a lease or a time-out is
// the subject; ages are made with a shifted clock, crashes at named points.
package scenarios
