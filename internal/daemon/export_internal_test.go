// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"github.com/deed-run/deed"
)

// SetNotice sets how long a gateway that stops still takes calls.
func (d *Daemon) SetNotice(notice time.Duration) { d.notice = notice }

// NoticeOf is the part of a drain in which calls are still taken.
func NoticeOf(configured time.Duration) time.Duration { return noticeOf(configured) }

// StopListening ends what the daemon serves by, as an error of the system does.
func (d *Daemon) StopListening() error { return d.listener.Close() }

// SettleElsewhere settles a claim past /v1, as another gateway does.
func (d *Daemon) SettleElsewhere(id deed.OperationID, attempt int, token string) error {
	who := deed.Principal{Tenant: d.core.Config.Tenant, Actor: d.core.Config.Actor, Rights: []deed.Right{deed.RightCall, deed.RightRead}}
	grant, err := d.core.Runtime.Regrant(context.Background(), who, id, attempt, token)
	if err != nil {
		return err
	}
	_, err = d.core.Runtime.Settle(context.Background(), grant, deed.Outcome{Kind: deed.OutcomeSuccess, Receipt: deed.Receipt{RemoteID: "re_1"}})
	return err
}
