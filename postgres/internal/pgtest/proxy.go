// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package pgtest

import "github.com/deed-run/deed/test/pgcluster"

// Cut says when a proxy ends a connection that sends a COMMIT.
type Cut = pgcluster.Cut

const (
	// CutNone lets it pass.
	CutNone = pgcluster.CutNone
	// CutBefore: the COMMIT never reaches the server.
	CutBefore = pgcluster.CutBefore
	// CutAtOnce: it reaches the server, which may or may not get to it.
	CutAtOnce = pgcluster.CutAtOnce
	// CutAnswer: the server commits and its answer is lost.
	CutAnswer = pgcluster.CutAnswer
)

// NewProxy starts a proxy that asks decide about every COMMIT. Stop it.
func (c *Cluster) NewProxy(decide func() Cut) (*pgcluster.Cutter, error) { return c.NewCutter(decide) }
