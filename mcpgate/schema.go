// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schema checks arguments against a tool's inputSchema, so that a mistake is found before a key is bound to it. It only ever refuses more
// than nothing: a schema that cannot be compiled, a reference to elsewhere or a pattern that Go's expressions lack is left to the upstream.
type schema struct {
	raw      json.RawMessage
	once     sync.Once
	compiled *jsonschema.Schema // nil when arguments are not checked
}

// compile is left to the first call of the tool: most tools of a list are never called.
func (s *schema) compile() *jsonschema.Schema {
	s.once.Do(func() {
		if compiled, err := compileSchema(s.raw); err == nil {
			s.compiled = compiled
		}
	})
	return s.compiled
}

func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	const url = "deed:inputSchema"
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// check says what is wrong with the arguments, or "".
func (s *schema) check(arguments []byte) string {
	if s == nil || s.raw == nil || s.compile() == nil {
		return ""
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return "the arguments are not JSON"
	}
	err = s.compiled.Validate(value)
	if err != nil {
		// Servers that read numbers from text are common; whether this one does is its own to say.
		if lenient := s.coerced(arguments); string(lenient) != string(arguments) {
			if value, again := jsonschema.UnmarshalJSON(bytes.NewReader(lenient)); again == nil && s.compiled.Validate(value) == nil {
				return ""
			}
		}
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return ""
	}
	printer := message.NewPrinter(language.English)
	var problems []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(problems) >= 3 {
			return
		}
		if len(e.Causes) == 0 {
			problems = append(problems, fmt.Sprintf("at '/%s': %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(printer)))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	return strings.Join(problems, "; ")
}

// noLoader refuses every reference that leaves the schema: nothing is fetched on a server's word.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %q, which is not fetched", url)
}

func compilePattern(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return anyPattern(pattern), nil
	}
	return re, nil
}

// anyPattern stands for a pattern in a dialect that Go does not read; the upstream checks it.
type anyPattern string

func (anyPattern) MatchString(string) bool { return true }
func (p anyPattern) String() string        { return string(p) }
