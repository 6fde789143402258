// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/deed-run/deed"
)

// manyOf selects the uncertain operations that one decision is about.
type manyOf struct {
	all, dry    bool
	tool, actor string
}

func (a *app) resolveMany(ctx context.Context, at place, many manyOf, res deed.Resolution) (err error) {
	d, err := a.desk(ctx, at)
	if err != nil {
		return err
	}
	defer leave(d, &err)
	query := deed.Query{
		Statuses: []deed.Status{deed.StatusUncertain}, Effective: d.Now(), Tool: deed.Tool(many.tool), Actor: deed.Actor(many.actor),
	}
	list, err := d.ResolveMany(ctx, query, res, many.dry)
	now := d.Now()
	refused := 0
	rows := [][]string{{"OPERATION", "TOOL", "BEGUN", "STATUS", "REFUSED BECAUSE"}}
	items := make([]map[string]any, 0, len(list))
	for _, one := range list {
		why := ""
		if one.Err != nil {
			why = one.Err.Error()
			refused++
		}
		rows = append(rows, []string{string(one.Operation.ID), string(one.Operation.Tool), when(one.Operation.CreatedAt, now), standing(one.Operation, now), orDash(plain(why))})
		items = append(items, map[string]any{"operation": show(one.Operation, now), "refused": why})
	}
	if a.json {
		if printed := a.printJSON(map[string]any{"dry_run": many.dry, "operations": items}); err == nil {
			err = printed
		}
		return err
	}
	if len(list) > 0 {
		if printed := a.print(table(rows)...); printed != nil {
			return printed
		}
	}
	verb := "decided"
	if many.dry {
		verb = "would be decided"
	}
	if printed := a.print(fmt.Sprintf("%d %s, %d refused", len(list)-refused, verb, refused)); printed != nil && err == nil {
		err = printed
	}
	if err == nil && refused > 0 {
		return exitWith(exitRefused)
	}
	return err
}
