// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"time"

	"github.com/deed-run/deed"
)

// clocksApart is how far the clocks of this machine and of the database may be from
// each other unmentioned. Calls are kept back when this machine's is ahead by their
// lease, 30 s by default.
const clocksApart = 10 * time.Second

// compareClocks tells whoever runs the gateway, once, that its clock is not the
// ledger's, by an event that has just been recorded there. A ledger in a file goes
// by the clock of this machine.
func (c *Core) compareClocks(event deed.Event) {
	if !c.place.Database() || event.At.IsZero() {
		return
	}
	text := apartText(c.Clock.Now().Sub(event.At))
	c.clocks.Store(&text)
	if text != "" {
		c.apart.Do(func() { c.log(text) })
	}
}

// clocksText is what the latest event said of the clocks, "" for nothing.
func (c *Core) clocksText() string {
	if text := c.clocks.Load(); text != nil {
		return *text
	}
	return ""
}

// apartText is what a difference of the clocks means, "" for one that means nothing.
func apartText(ahead time.Duration) string {
	switch {
	case ahead > clocksApart:
		return fmt.Sprintf("this machine's clock is about %s ahead of the ledger's, or it stood still for as long: when that is more than a tool's lease (30s by default), its calls are too late to send and nothing is sent; set both clocks right (NTP)", ahead.Round(time.Second))
	case ahead < -clocksApart:
		return fmt.Sprintf("this machine's clock is about %s behind the ledger's; calls are sent, and times that this process tells are off by as much; set both clocks right (NTP)", -ahead.Round(time.Second))
	}
	return ""
}
