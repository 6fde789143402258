// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// value is one column of a row: nil, int64, float64, string or []byte.
type value any

// table is the shape of one table of the ledger.
type table struct {
	name    string
	columns []string
	// link is the column that says which operation a row belongs to: the place
	// in operations, or the id.
	link int
}

const operationsTable = "operations"

// row is a row with its values in the order of the table's columns.
type row []value

func equalValues(a, b value) bool {
	x, ok := a.([]byte)
	y, also := b.([]byte)
	if ok && also {
		return bytes.Equal(x, y)
	}
	return ok == also && (ok || a == b)
}

// readShape lists the tables whose rows belong to operations.
func readShape(db *sqlite3.Conn) ([]table, error) {
	names, err := query(db, `SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid`)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, name := range names {
		t := table{name: fmt.Sprint(name[0]), link: -1}
		columns, err := query(db, `SELECT name FROM pragma_table_info('`+t.name+`')`)
		if err != nil {
			return nil, err
		}
		for i, column := range columns {
			text := fmt.Sprint(column[0])
			t.columns = append(t.columns, text)
			if text == "operation" || t.name == operationsTable && text == "seq" {
				t.link = i
			}
		}
		if t.link >= 0 {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 || tables[0].name != operationsTable {
		return nil, fmt.Errorf("the ledger has no table %s first; the floor cannot be measured on its schema", operationsTable)
	}
	return tables, nil
}

// column returns the place of a column, -1 if there is none.
func (t table) column(name string) int {
	for i, c := range t.columns {
		if c == name {
			return i
		}
	}
	return -1
}

// query reads all rows of a statement.
func query(db *sqlite3.Conn, text string, arguments ...value) ([]row, error) {
	s, _, err := db.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	defer func() { _ = s.Close() }()
	if err := bindAll(s, arguments); err != nil {
		return nil, err
	}
	var rows []row
	for s.Step() {
		r := make(row, s.ColumnCount())
		for i := range r {
			switch s.ColumnType(i) {
			case sqlite3.INTEGER:
				r[i] = s.ColumnInt64(i)
			case sqlite3.FLOAT:
				r[i] = s.ColumnFloat(i)
			case sqlite3.TEXT:
				r[i] = s.ColumnText(i)
			case sqlite3.BLOB:
				r[i] = append([]byte{}, s.ColumnRawBlob(i)...)
			}
		}
		rows = append(rows, r)
	}
	return rows, s.Err()
}

func bindAll(s *sqlite3.Stmt, values []value) error {
	for i, v := range values {
		var err error
		switch v := v.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case int64:
			err = s.BindInt64(i+1, v)
		case float64:
			err = s.BindFloat(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			err = s.BindBlob(i+1, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readRows returns the rows of a table by the operation that they belong to,
// in the order in which they were written.
func readRows(db *sqlite3.Conn, t table, places map[string]int64) (map[int64][]row, error) {
	order := ""
	if seq := t.column("seq"); seq >= 0 {
		order = " ORDER BY seq"
	}
	rows, err := query(db, "SELECT * FROM "+t.name+order)
	if err != nil {
		return nil, err
	}
	of := map[int64][]row{}
	for _, r := range rows {
		switch link := r[t.link].(type) {
		case int64:
			of[link] = append(of[link], r)
		case []byte:
			if place, known := places[string(link)]; known {
				of[place] = append(of[place], r)
			}
		}
	}
	return of, nil
}
