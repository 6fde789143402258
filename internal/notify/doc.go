// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package notify tells people over webhooks that something waits for them: an
// approval, or an operation that look-ups have given up on.
//
// A notice decides nothing and carries no argument: it names the operation and
// links to the console, where a person signs in and decides. Notices are sent at
// least once and carry an id of their own, so that receivers can drop repeats;
// one that cannot be delivered is told to the log, and the console shows what
// waits in any case. Start with [New].
package notify
