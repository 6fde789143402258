// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
)

// Setting implements deed.Store.
func (l *Ledger) Setting(ctx context.Context, name string, update func(old []byte) []byte) ([]byte, error) {
	var value []byte
	if update == nil {
		err := l.read(ctx, func(c *connection) (err error) {
			value, err = readSetting(c, name)
			return err
		})
		return value, err
	}
	err := l.transact(ctx, func(c *connection) error {
		old, err := readSetting(c, name)
		if err != nil {
			return err
		}
		value = old
		next := update(append([]byte(nil), old...))
		if next == nil {
			return nil
		}
		value = append([]byte{}, next...)
		s := c.use(stmtPutSetting)
		s.text(name)
		s.blob(value)
		return s.run()
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

func readSetting(c *connection, name string) ([]byte, error) {
	s := c.use(stmtSetting)
	s.text(name)
	var value []byte
	if s.next() {
		value = s.readBytes()
	}
	return value, s.end()
}
