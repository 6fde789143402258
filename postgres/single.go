// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"regexp"
	"strings"
)

// singles are the statements for batches in the form for one row, by their
// texts: a function that unfolds an array costs the server more than the rest
// of a small statement. Read only.
var singles = func() map[string]string {
	forms := map[string]string{}
	for _, sql := range []string{
		sqlDeliver, sqlByID + forShow, sqlByID + forUpdate, sqlByKey + forShow, sqlByKey + forUpdate, sqlLineage, sqlTwins, sqlRefused,
		sqlRules, sqlWritten, sqlInsertOperations, sqlUpdateOperations, sqlBindKeys, sqlInsertEvents,
		sqlShare, sqlConsentBy, sqlBook, sqlSpendConsents,
	} {
		forms[sql] = single(sql)
	}
	return forms
}()

var unfolding = regexp.MustCompile(`unnest\(([^)]*)\)\s+(\w+)\(([^)]*)\)`)

// single replaces each unfolding of arrays by their first elements, which are
// NULL for an array without any.
func single(sql string) string {
	return unfolding.ReplaceAllStringFunc(sql, func(match string) string {
		parts := unfolding.FindStringSubmatch(match)
		arrays, names := strings.Split(parts[1], ","), strings.Split(parts[3], ",")
		for i := range arrays {
			arrays[i] = fmt.Sprintf("(%s)[1] AS %s", strings.TrimSpace(arrays[i]), strings.TrimSpace(names[i]))
		}
		return "(SELECT " + strings.Join(arrays, ", ") + ") " + parts[2]
	})
}

// text is what is sent for a step.
func (s *step) text() string {
	if form, there := singles[s.sql]; there && s.rows == 1 {
		return form
	}
	return s.sql
}
