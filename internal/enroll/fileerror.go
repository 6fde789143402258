// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"fmt"
)

// FileError says why a configuration file was left exactly as it was.
type FileError struct {
	Path    string
	Line    int    // 1-based; 0 where no line is to blame
	Problem string // what happened
	Remedy  string // what to do next
	Err     error  // the cause, may be nil
}

// Error names the file and line, the problem, that nothing was changed, and the
// remedy.
func (e *FileError) Error() string {
	place := e.Path
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.Path, e.Line)
	}
	problem := e.Problem
	if e.Err != nil {
		problem = fmt.Sprintf("%s: %v", e.Problem, e.Err)
	}
	return fmt.Sprintf("%s: %s; nothing was changed; %s", place, problem, e.Remedy)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// syntaxError is a problem at an offset of the source, before the file's name
// is known.
type syntaxError struct {
	offset  int
	problem string
	remedy  string
}

func (e *syntaxError) Error() string { return e.problem }

func lineAt(src []byte, offset int) int {
	return 1 + bytes.Count(src[:min(offset, len(src))], []byte("\n"))
}
