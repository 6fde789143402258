// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/api"
	"github.com/deed-run/deed/internal/keyheader"
	"github.com/deed-run/deed/internal/problems"
)

// call answers POST /v1/tools/{upstream}/{tool}/calls.
func (s *Server) call(x *exchange) reply {
	if s.Tools == nil {
		return notFound()
	}
	var body api.CallRequest
	if no, refused := x.decode(&body); refused {
		return no
	}
	tool := deed.Tool(x.PathValue("upstream") + "/" + x.PathValue("tool"))
	if why := wrongMeta(body.Meta); why != "" {
		return malformed(why)
	}
	keys, wrong := keyheader.Keys(x.Header)
	if wrong != "" {
		return s.badKey(wrong)
	}
	if len(body.Arguments) == 0 {
		body.Arguments = []byte("{}")
	}
	a, err := s.Tools.Call(x.Context(), deed.Call{
		Principal: x.who, Tool: tool, Arguments: bytes.Clone(body.Arguments), Carriers: carriers(keys, s.familyOf(tool, "")),
		Meta: body.Meta, ExpiresAt: body.ExpiresAt, EffectFingerprint: body.EffectFingerprint, ArrivedAt: x.arrived,
	})
	switch {
	case errors.Is(err, ErrUnknownTool):
		return problem(http.StatusNotFound, api.TypeNotFound, "There is no such tool to call", err.Error())
	case err != nil:
		return s.failure(err)
	}
	return s.answered(x, a, func(v api.Verdict) any { return api.CallAnswer{Verdict: v} })
}

func (s *Server) badKey(wrong string) reply {
	a := deed.Answer{Decision: deed.Denied, Reason: deed.ReasonBadKey, Text: wrong}
	code := codeOf(a)
	return answer(code, problemOf(code, problems.Of(code, a, ""), a, s.verdict(a)))
}

// familyOf is the family of a key: the request's word, else the tool's rule.
func (s *Server) familyOf(tool deed.Tool, asked deed.Family) deed.Family {
	switch {
	case asked != "":
		return asked
	case s.Policy != nil:
		if family := s.Policy.Rule(tool, s.Facts(tool)).Identity; family != "" {
			return family
		}
	}
	return deed.FamilyOperation
}

// Bounds of what a request may say about itself.
const (
	maxMeta      = 32
	maxMetaBytes = 256
)

func wrongMeta(meta map[string]string) string {
	if len(meta) > maxMeta {
		return fmt.Sprintf("meta has %d members, at most %d are kept; nothing was done", len(meta), maxMeta)
	}
	for name, value := range meta {
		if name == "" || len(name) > maxMetaBytes || len(value) > maxMetaBytes {
			return fmt.Sprintf("meta: names and values have at most %d bytes, and names at least one; nothing was done", maxMetaBytes)
		}
	}
	return ""
}

var _ http.Handler = (*Server)(nil)
