// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	maxDocument = 32 << 20
	maxImported = 400
)

// importer turns one OpenAPI document into a description.
type importer struct {
	doc   tree
	out   strings.Builder
	notes []string
	names map[string]bool
	// cut and size are of the schema that is being copied.
	cut  bool
	size int
	tool string
}

// ImportOpenAPI reads an OpenAPI 3 document, JSON or YAML, and writes a description for [Load]: a tool for every operation. What such a
// document cannot say is in the notes: by what an effect is found again, for how long a key is kept, how long the provider works on a request
// that nobody waits for. Add it, or take it from the catalogue, before you rely on it.
func ImportOpenAPI(r io.Reader) (description []byte, notes []string, err error) {
	source, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the document was not read: %w", err)
	case len(source) > maxDocument:
		return nil, nil, fmt.Errorf("the document has more than %d bytes: nothing was imported; cut out the paths that you need", maxDocument)
	}
	doc, err := documentTree(source, "the document")
	if err != nil {
		return nil, nil, fmt.Errorf("nothing was imported: %w", err)
	}
	im := &importer{doc: doc, names: map[string]bool{}}
	version := doc.at("openapi").str()
	switch {
	case doc.at("swagger").names != nil || doc.at("swagger").str() != "":
		return nil, nil, errors.New("this is Swagger 2: nothing was imported; convert it to OpenAPI 3 first")
	case !strings.HasPrefix(version, "3."):
		return nil, nil, fmt.Errorf("this is no OpenAPI 3 document (openapi: %q): nothing was imported", version)
	case len(doc.at("paths").names) == 0:
		return nil, nil, errors.New("the document has no paths: nothing was imported")
	}
	im.head()
	im.paths()
	if len(im.names) == 0 {
		return nil, im.notes, errors.New("no operation could be imported")
	}
	description = []byte(im.out.String())
	if _, err := Load(description, "imported.yaml", 1, func(string) (string, bool) { return "x", true }); err != nil {
		return nil, im.notes, fmt.Errorf("what was imported cannot be loaded, which is a fault of the import: %w", err)
	}
	return description, im.notes, nil
}

func (im *importer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if im.tool != "" {
		text = im.tool + ": " + text
	}
	if !slices.Contains(im.notes, text) {
		im.notes = append(im.notes, text)
	}
}

func (im *importer) line(format string, args ...any) { fmt.Fprintf(&im.out, format+"\n", args...) }

func (im *importer) head() {
	info := im.doc.at("info")
	im.line("# %s %s, imported from its OpenAPI document. What the document cannot say has to be added:", firstSentence(info.at("title").str()), firstSentence(info.at("version").str()))
	im.line("# marker or client_id and a look-up, the retention of provider keys, max_processing, and which errors prove that nothing was done.")
	im.line("base_url: %s", quotedYAML(im.base()))
	if name, value := im.credentials(); name != "" {
		im.line("headers: {%s: %s}", quotedYAML(name), quotedYAML(value))
	}
	im.line("tools:")
}

// base is the first server of the document.
func (im *importer) base() string {
	const unknown = "https://replace-me.example"
	servers := im.doc.at("servers").parts
	if len(servers) == 0 {
		im.note("the document names no server: correct base_url")
		return unknown
	}
	address := servers[0].at("url").str()
	variables := servers[0].at("variables")
	for i, name := range variables.names {
		address = strings.ReplaceAll(address, "{"+name+"}", variables.parts[i].at("default").str())
		im.note("the server's variable %s has its default in base_url", name)
	}
	at, err := url.Parse(address)
	switch {
	case err != nil || strings.ContainsAny(address, "{}$"):
		im.note("the server %q is no address: correct base_url", address)
		return unknown
	case at.Host == "":
		im.note("the server %q is relative: correct base_url", address)
		return unknown + strings.TrimSuffix(at.EscapedPath(), "/")
	case at.Scheme != "https" && at.Scheme != "http", at.RawQuery != "", at.User != nil, at.Fragment != "":
		im.note("the server %q is no plain address: correct base_url", address)
		return unknown
	case len(servers) > 1:
		im.note("the document names %d servers, of which the first was taken", len(servers))
	}
	return strings.TrimSuffix(address, "/")
}

// credentials are of the first security scheme that a header can carry.
func (im *importer) credentials() (header, value string) {
	schemes := im.doc.at("components", "securitySchemes")
	var wanted []string
	for _, alternative := range im.doc.at("security").parts {
		wanted = append(wanted, alternative.names...)
	}
	if len(wanted) == 0 {
		wanted = schemes.names
	}
	for _, name := range wanted {
		scheme := im.resolve(schemes.at(name))
		switch kind := scheme.at("type").str(); {
		case kind == "http" && strings.EqualFold(scheme.at("scheme").str(), "basic"):
			im.note("set API_BASIC to the base64 of name:password")
			return "Authorization", "Basic ${API_BASIC}"
		case kind == "http" && strings.EqualFold(scheme.at("scheme").str(), "bearer"), kind == "oauth2", kind == "openIdConnect":
			im.note("set API_TOKEN to the bearer token; deed does not renew it")
			return "Authorization", "Bearer ${API_TOKEN}"
		case kind == "apiKey" && scheme.at("in").str() == "header" && token.MatchString(scheme.at("name").str()):
			im.note("set API_KEY to the key for the header %s", scheme.at("name").str())
			return scheme.at("name").str(), "${API_KEY}"
		}
	}
	if len(schemes.names) > 0 {
		im.note("none of the security schemes (%s) is a header: add what the API needs", strings.Join(schemes.names, ", "))
	}
	return "", ""
}

func (im *importer) paths() {
	paths := im.doc.at("paths")
	count, left := 0, 0
	for i, path := range paths.names {
		item := im.resolve(paths.parts[i])
		for _, method := range methods {
			operation, ok := item.member(strings.ToLower(method))
			if !ok {
				continue
			}
			if count++; count > maxImported {
				left++
				continue
			}
			im.operation(path, method, item.at("parameters").parts, operation)
			im.tool = ""
		}
	}
	if left > 0 {
		im.note("%d operations after the first %d were left out", left, maxImported)
	}
	if im.doc.at("webhooks").names != nil {
		im.note("the webhooks of the document were not imported")
	}
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// name is what the operation is called, once in the document.
func (im *importer) name(operation tree, method, path string) string {
	name := operation.at("operationId").str()
	if name == "" {
		name = strings.ToLower(method) + "_" + strings.Trim(strings.NewReplacer("{", "", "}", "").Replace(path), "/")
	}
	name = strings.Trim(notInNames.ReplaceAllString(name, "_"), "_")
	name = name[:min(len(name), 100)]
	if name == "" {
		name = "operation"
	}
	for base, n := name, 2; im.names[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}
