// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sqlite

import "os"

// unchanged reports whether the file of that name is the one that was opened.
func unchanged(name string, opened os.FileInfo) bool { return stillThere(name, opened) }
