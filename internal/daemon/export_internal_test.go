// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import "time"

// SetNotice sets how long a gateway that stops still takes calls.
func (d *Daemon) SetNotice(notice time.Duration) { d.notice = notice }

// NoticeOf is the part of a drain in which calls are still taken.
func NoticeOf(configured time.Duration) time.Duration { return noticeOf(configured) }
