// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package mail makes tools of a mail account: they send over SMTP, read and keep drafts over IMAP, and every mail carries a Message-ID made
// of its operation's marker, so that look-ups can find out whether a lost answer meant a sent mail.
//
// It is no mail client and no queue: one call is one submission, nothing is ever sent again, and all that an answer claims is that a server
// accepted a mail for delivery. What becomes of it afterwards is not known here and never said.
//
// Start with [Load] for an account of a configuration file, [New] for one made in Go; [Account.Tools] and [Account.Call] serve it.
package mail
