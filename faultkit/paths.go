// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// words is a command as a configuration writes it: a list, or a program alone.
func words(command any) []any {
	switch c := command.(type) {
	case []any:
		return c
	case string:
		if c != "" {
			return []any{c}
		}
	}
	return nil
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// under makes a folder of a configuration that is read from another place
// absolute: relative ones start from the folder of the original. Variables stay
// for the gateway to replace.
func under(folder, path string, env func(string) string) string {
	replaced := variable.ReplaceAllStringFunc(path, func(name string) string { return env(name[2 : len(name)-1]) })
	if filepath.IsAbs(replaced) {
		return path
	}
	folder = strings.ReplaceAll(folder, "${", "$${")
	if path == "" {
		return folder
	}
	return folder + string(filepath.Separator) + path
}

// getenv reads what the gateway's environment will be.
func (o ProveOptions) getenv(name string) string {
	value := os.Getenv(name)
	for _, entry := range o.Env {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}
