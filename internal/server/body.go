// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/canon"
)

// read takes the body in, within its limits of length and time.
func (s *Server) read(w http.ResponseWriter, x *exchange) (reply, bool) {
	kind, parameters, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return problem(http.StatusUnsupportedMediaType, api.TypeMediaType, "The body is not application/json", "nothing was done; send JSON in UTF-8 with Content-Type: application/json"), true
	}
	if encoding := x.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return problem(http.StatusUnsupportedMediaType, api.TypeMediaType, "The body is encoded", "nothing was done; send it without Content-Encoding"), true
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.ReadWithin))
	x.body, err = io.ReadAll(http.MaxBytesReader(w, x.Body, s.MaxBody))
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	case errors.As(err, &tooLong):
		no := problem(http.StatusRequestEntityTooLarge, api.TypeTooLarge, "The body is too long", fmt.Sprintf("nothing was done; a body has at most %d bytes", s.MaxBody))
		no.body.(*api.Problem).Decision, no.body.(*api.Problem).Reason = deed.Denied, deed.ReasonBadArguments
		return no, true
	default:
		// net/http reads what is left of a body before it answers: the deadline
		// stays, and the connection ends.
		no := malformed("the body broke off; nothing was done")
		no.header.Set("Connection", "close")
		return no, true
	}
	return reply{}, false
}

// malformed is denied(bad_arguments) of a request that means nothing.
func malformed(detail string) reply {
	no := problem(http.StatusBadRequest, api.TypeMalformed, "The request cannot be understood", detail)
	no.body.(*api.Problem).Decision, no.body.(*api.Problem).Reason = deed.Denied, deed.ReasonBadArguments
	return no
}

// decode reads the body strictly: one JSON object that every reader
// understands alike, with members that are known, spelt exactly, and there
// once.
func (x *exchange) decode(into any) (reply, bool) {
	if err := canon.Strict(x.body); err != nil {
		return malformed(err.Error() + "; nothing was done"), true
	}
	if string(bytes.TrimSpace(x.body)) == "null" {
		return malformed("a JSON object is expected in the body; nothing was done"), true
	}
	if why := x.shapes.unknownMember("", x.body, reflect.TypeOf(into).Elem()); why != "" {
		return malformed(why + "; nothing was done"), true
	}
	if err := json.Unmarshal(x.body, into); err != nil {
		return malformed(strings.TrimPrefix(err.Error(), "json: ") + "; nothing was done"), true
	}
	return reply{}, false
}

// shapes are the JSON members of the structs that requests are read into.
type shapes map[reflect.Type]map[string]reflect.StructField

// shapesOf finds the structs in the bodies of a table of routes.
func shapesOf(table []route) shapes {
	s := shapes{}
	for _, r := range table {
		if r.request != nil {
			s.learn(reflect.TypeOf(r.request))
		}
	}
	return s
}

func (s shapes) learn(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if _, known := s[t]; known || !hasMembers(t) {
		return
	}
	fields := fieldsOf(t)
	s[t] = fields
	for _, field := range fields {
		s.learn(field.Type)
	}
}

// hasMembers says that a value of the type is read as an object whose members
// are known.
func hasMembers(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]()
}

// unknownMember names a member that the type does not have. encoding/json
// takes other spellings of a name for the name; this does not.
func (s shapes) unknownMember(at string, doc json.RawMessage, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case string(doc) == "null", t == reflect.TypeFor[json.RawMessage]():
		return ""
	case hasMembers(t):
		var members map[string]json.RawMessage
		if err := json.Unmarshal(doc, &members); err != nil {
			return "a JSON object is expected" + place(at)
		}
		for name, value := range members {
			field, known := s[t][name]
			if !known {
				return fmt.Sprintf("there is no member %q%s", name, place(at))
			}
			if string(value) == "null" && scalar(field.Type) {
				return fmt.Sprintf("%q is null%s: leave it out", name, place(at))
			}
			if kind := field.Type.Kind(); kind == reflect.Struct || kind == reflect.Slice || kind == reflect.Pointer {
				if why := s.unknownMember(at+"/"+name, value, field.Type); why != "" {
					return why
				}
			}
		}
	case t.Kind() == reflect.Slice:
		var elements []json.RawMessage
		if json.Unmarshal(doc, &elements) != nil {
			return ""
		}
		for i, element := range elements {
			if why := s.unknownMember(fmt.Sprintf("%s/%d", at, i), element, t.Elem()); why != "" {
				return why
			}
		}
	}
	return ""
}

// scalar says that encoding/json would take null for a member that is not there:
// whoever sends it meant to say something, a key above all.
func scalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return t == reflect.TypeFor[time.Time]()
}

// names reports whether the body has the member.
func (x *exchange) names(member string) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(x.body, &members)
	_, there := members[member]
	return there
}

func place(at string) string {
	if at == "" {
		return " in the body"
	}
	return " at " + at
}

// fieldsOf lists a struct's JSON members, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || !field.IsExported() || name == "-" || name == "" {
			continue
		}
		fields[name] = field
	}
	return fields
}
