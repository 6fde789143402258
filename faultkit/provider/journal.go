// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// journal is an append-only file of JSON lines with its rows kept in memory.
type journal[T any] struct {
	mu      sync.Mutex
	file    *os.File
	durable bool
	rows    []T
	changed chan struct{}
}

// openJournal reads what an earlier process left. A last line without its
// newline was never answered for, so it is cut off.
func openJournal[T any](path string, durable bool) (*journal[T], error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open fixture ledger: %w", err)
	}
	j := &journal[T]{file: file, durable: durable, changed: make(chan struct{})}
	whole, err := j.load()
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read fixture ledger %s: %w", filepath.Base(path), err)
	}
	return j, nil
}

func (j *journal[T]) load() (whole int64, err error) {
	reader := bufio.NewReader(j.file)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return whole, nil
		}
		if err != nil {
			return 0, err
		}
		var row T
		if err := json.Unmarshal(bytes.TrimSpace(line), &row); err != nil {
			return 0, fmt.Errorf("line %d: %w", len(j.rows)+1, err)
		}
		j.rows = append(j.rows, row)
		whole += int64(len(line))
	}
}

// append numbers a row, writes it, and returns it only once it is in the file
// (and synced, for a durable journal).
func (j *journal[T]) append(number func(seq int) T) (T, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	row := number(len(j.rows) + 1)
	line, err := json.Marshal(row)
	if err != nil {
		return row, fmt.Errorf("encode fixture ledger row: %w", err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return row, fmt.Errorf("write fixture ledger: %w", err)
	}
	if j.durable {
		if err := j.file.Sync(); err != nil {
			return row, fmt.Errorf("sync fixture ledger: %w", err)
		}
	}
	j.rows = append(j.rows, row)
	close(j.changed)
	j.changed = make(chan struct{})
	return row, nil
}

func (j *journal[T]) all() []T {
	rows, _ := j.snapshot()
	return rows
}

// since returns the rows after the first n.
func (j *journal[T]) since(n int) []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]T(nil), j.rows[min(n, len(j.rows)):]...)
}

func (j *journal[T]) snapshot() ([]T, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]T(nil), j.rows...), j.changed
}

// wait returns the rows that match as soon as there are at least n of them.
func (j *journal[T]) wait(ctx context.Context, n int, match func(T) bool) ([]T, error) {
	for {
		rows, changed := j.snapshot()
		var matching []T
		for _, row := range rows {
			if match(row) {
				matching = append(matching, row)
			}
		}
		if len(matching) >= n {
			return matching, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return matching, ctx.Err()
		}
	}
}

func (j *journal[T]) reset() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.file.Truncate(0); err != nil {
		return fmt.Errorf("empty fixture ledger: %w", err)
	}
	if _, err := j.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("empty fixture ledger: %w", err)
	}
	j.rows = nil
	close(j.changed)
	j.changed = make(chan struct{})
	return nil
}

func (j *journal[T]) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}
