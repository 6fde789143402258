// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// maxFileSize bounds what is read; real configuration files are a few kB.
const maxFileSize = 16 << 20

// source is a configuration file as found on disk.
type source struct {
	path string // links followed
	data []byte
	mode fs.FileMode
}

// readSource reads the target's file, following links, and refuses what cannot
// be edited as UTF-8 text.
func readSource(t Target) (source, error) {
	refuse := func(problem, remedy string, err error) (source, error) {
		return source{}, &FileError{Path: t.Path, Problem: problem, Remedy: remedy, Err: err}
	}
	path, err := filepath.EvalSymlinks(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		if link, linkErr := os.Readlink(t.Path); linkErr == nil {
			return refuse("the file is a link to "+link+", which does not exist", "repair or remove the link and run the command again", err)
		}
		return refuse("there is no such file", "add a server in "+t.Client.Title+" first, or name another file", err)
	}
	if err != nil {
		return refuse("the path cannot be followed", "check the path and its links and run the command again", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return refuse("the file cannot be examined", "make it readable and run the command again", err)
	case !info.Mode().IsRegular():
		return refuse("this is not a regular file", "name the configuration file itself", nil)
	case info.Size() > maxFileSize:
		return refuse("the file is larger than 16 MiB", "check that this is the configuration file", nil)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return refuse("the file cannot be read", "make it readable and run the command again", err)
	}
	if err := checkEncoding(t.Path, data); err != nil {
		return source{}, err
	}
	return source{path: path, data: data, mode: info.Mode().Perm()}, nil
}

func checkEncoding(path string, data []byte) error {
	const remedy = "save the file as UTF-8 and run the command again"
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return &FileError{Path: path, Line: 1, Problem: "the file is encoded in UTF-16", Remedy: remedy}
		}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return &FileError{Path: path, Line: lineAt(data, i), Problem: "the file contains a NUL byte, so it is no UTF-8 text", Remedy: remedy}
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return &FileError{Path: path, Line: lineAt(data, at), Problem: "the file is not encoded in UTF-8", Remedy: remedy}
		}
		at += size
	}
	return nil
}

// document parses the file and puts its name to what is wrong with it.
func (s source) document(t Target) (document, error) {
	doc, err := parse(t.Client.format, t.Client.section, s.data)
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		return doc, &FileError{Path: t.Path, Line: lineAt(s.data, syntax.offset), Problem: syntax.problem, Remedy: syntax.remedy}
	}
	return doc, err
}
