// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// WrittenOut is a secret that stands in the file itself.
type WrittenOut struct {
	// Path is where, as names with dots.
	Path string
	// Instead is what to write there.
	Instead string
}

// WrittenOut lists what looks like a secret, by its name or by how it begins, and
// holds no variable: whoever reads the file, or its history, has it.
func (c *Config) WrittenOut() []WrittenOut {
	var found []WrittenOut
	add := func(path, instead string) { found = append(found, WrittenOut{path, instead}) }
	headers := func(owner, path string, list map[string]Value) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if v := list[name]; !v.Secret && secretHeader(name, v.Text) {
				add(path+"."+name, schemeOf(v.Text)+"${"+variableOf(owner, "token")+"}")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		up, path := c.Upstreams[name], "upstreams."+name
		for _, variable := range slices.Sorted(maps.Keys(up.Env)) {
			if v := up.Env[variable]; !v.Secret && v.Text != "" && secretName(variable) {
				add(path+".env."+variable, "${"+variable+"}")
			}
		}
		headers(name, path+".headers", up.Headers)
		for i, word := range up.Command {
			flag, value, written := strings.Cut(word.Source, "=")
			if !written && i > 0 && strings.HasPrefix(up.Command[i-1].Source, "-") {
				flag, value = up.Command[i-1].Source, word.Source
			}
			if !word.Secret && value != "" && !strings.HasPrefix(value, "-") && strings.HasPrefix(flag, "-") && secretName(flag) {
				add(fmt.Sprintf("%s.command (%s)", path, flag), "${"+variableOf(name, lastWord(flag))+"}")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.HTTP)) {
		headers(name, "http."+name+".headers", c.HTTP[name].Headers)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Connectors)) {
		var described any
		if yaml.Unmarshal(c.Connectors[name].Source, &described) == nil {
			writtenIn(described, "connectors."+name, func(path, last string) { add(path, "${"+variableOf(name, last)+"}") })
		}
	}
	return found
}

// writtenIn finds passwords, and headers that carry a secret, in a description.
func writtenIn(described any, path string, add func(path, last string)) {
	switch d := described.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(d)) {
			text, isText := d[name].(string)
			switch {
			case !isText:
				writtenIn(d[name], path+"."+name, add)
			case text == "" || strings.Contains(text, "${"):
			case strings.HasSuffix(path, ".headers") && secretHeader(name, text):
				add(path+"."+name, "token")
			case name == "password":
				add(path+"."+name, name)
			}
		}
	case []any:
		for i, item := range d {
			writtenIn(item, fmt.Sprintf("%s[%d]", path, i), add)
		}
	}
}

// secretHeader tells headers that say who asks.
func secretHeader(name, text string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie":
		return text != ""
	}
	return text != "" && (secretName(name) || schemeOf(text) != "")
}

// schemeOf is the word before a token, which may stay.
func schemeOf(text string) string {
	for _, scheme := range []string{"Bearer ", "Basic ", "Token "} {
		if len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
			return text[:len(scheme)]
		}
	}
	return ""
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

func lastWord(name string) string {
	words := wordsOf(name)
	if len(words) == 0 {
		return "secret"
	}
	return words[len(words)-1]
}

// secretName goes by the last word of a name: API_TOKEN is one, TOKEN_FILE says where
// one is.
func secretName(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "token", "secret", "password", "passwd", "pwd", "passphrase", "apikey", "credential", "credentials", "pat":
		return true
	case "key":
		return len(words) > 1 && !slices.Contains([]string{"public", "sort", "primary", "partition", "cache", "idempotency"}, words[len(words)-2])
	}
	return false
}

// variableOf proposes the name of a variable.
func variableOf(owner, last string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(owner+"_"+last))
	if name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}
