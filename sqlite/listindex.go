// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import "github.com/deed-run/deed"

// indexFor names the index that leaves the fewest rows to look at. Left to
// itself the planner walks all of a tenant's operations in the order of the
// listing, which is right only when most of them match.
func indexFor(query deed.Query, part condition) string {
	switch {
	case query.Flagged && query.Tenant != "":
		return `INDEXED BY operations_flagged`
	case query.Key != "":
		return `NOT INDEXED` // the keys lead to the rows
	case query.Fingerprint != "" && query.Tenant != "":
		return `INDEXED BY operations_fingerprint`
	case query.Matter != "" && query.Tenant != "":
		return `INDEXED BY operations_matter`
	case !query.Lapsed.IsZero():
		return `INDEXED BY operations_lapses`
	case part.status == "" || part.status == deed.StatusCommitted:
		return alongIDs
	case part.status == deed.StatusExecuting:
		return `INDEXED BY operations_unresolved`
	}
	return `INDEXED BY operations_status`
}

const (
	// alongIDs is right where most rows match.
	alongIDs = `INDEXED BY operations_id`
	// rareTool is the number of operations up to which reading and sorting all
	// of a tool is better than looking for them among all others.
	rareTool = 5000
	sqlRare  = `SELECT count(*) FROM (SELECT 1 FROM operations INDEXED BY operations_fingerprint WHERE tenant=? AND tool=? LIMIT ?)`
)

// isRare reports whether a tool has no more than rareTool operations.
func isRare(c *connection, tenant deed.Tenant, tool deed.Tool) (bool, error) {
	s, err := c.prepare(sqlRare)
	if err != nil {
		return false, err
	}
	defer func() { _ = s.Close() }()
	s.text(string(tenant))
	s.text(string(tool))
	s.integer(rareTool + 1)
	rare := s.next() && s.readInteger() <= rareTool
	return rare, s.end()
}

// everyTool hops from one tool of a tenant to the next: the index of
// fingerprints begins with them.
const everyTool = `o.tool IN (WITH RECURSIVE tools (tool) AS (
		SELECT (SELECT min(tool) FROM operations INDEXED BY operations_fingerprint WHERE tenant=?)
		UNION ALL
		SELECT (SELECT min(tool) FROM operations INDEXED BY operations_fingerprint WHERE tenant=? AND tool>tools.tool)
			FROM tools WHERE tools.tool IS NOT NULL)
	SELECT tool FROM tools WHERE tool IS NOT NULL)`
