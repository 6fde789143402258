// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

// reserve is memory that a Daemon holds and never touches: it takes addresses,
// not RAM. Go collects garbage whenever the heap has grown by as much as was
// alive. A gateway keeps some 7 MiB alive and leaves 100 KiB behind for each
// call, so that it would collect for every 80 calls, which costs a fifth of its
// processor time. The reserve counts as alive, and the heap grows by that much
// more between two collections, whatever else is alive; GOGC still scales it.
const reserve = 24 << 20
