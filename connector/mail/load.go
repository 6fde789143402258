// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Load makes an account of its block in a configuration file. source is the block, file and line say where it begins, for problems; env
// resolves ${NAME}, nil knows none. Every key that is not read, and every value that does not fit, is a [Problem] of the returned [*Error].
// Nothing is connected to.
func Load(source []byte, file string, line int, env func(string) string) (*Account, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	d := &decoder{file: file, line: max(1, line), env: env}
	var options Options
	root, ok := d.document(source)
	if ok {
		d.account(root, &options)
	}
	if len(d.found) == 0 {
		account, err := New(options)
		if err == nil {
			return account, nil
		}
		d.refuse(value{root.node, ""}, err.Error(), "")
	}
	slices.SortStableFunc(d.found, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return nil, &Error{d.found}
}

func (d *decoder) document(source []byte) (value, bool) {
	whole := func(line, column int, wrong string) {
		d.found = append(d.found, Problem{File: d.file, Line: d.line + line - 1, Column: column, Wrong: wrong, Remedy: "write the account's keys as YAML"})
	}
	parsed, err := parseYAML(source)
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line, column := 1, 1
		if t := syntax.GetToken(); t != nil && t.Position != nil {
			line, column = t.Position.Line, t.Position.Column
		}
		whole(line, column, "not YAML: "+syntax.GetMessage())
	case err != nil:
		whole(1, 1, "not YAML: "+err.Error())
	case len(parsed.Docs) != 1 || parsed.Docs[0].Body == nil:
		whole(1, 1, "the account has no keys, or more than one document")
	default:
		return value{node: parsed.Docs[0].Body}, true
	}
	return value{}, false
}

// parseYAML turns a panic of the YAML reader into an error.
func parseYAML(source []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the YAML reader gave up (%v)", p)
		}
	}()
	return parser.ParseBytes(source, 0, parser.AllowDuplicateMapKey())
}

func (d *decoder) account(root value, o *Options) {
	d.block(root, map[string]field{
		"account": text(&o.Address), "name": text(&o.Name), "hello": text(&o.Hello),
		"message_id_host": text(&o.MessageIDHost), "operation_header": text(&o.OperationHeader),
		"max_size": bytesOf(&o.MaxSize), "max_recipients": number(&o.MaxRecipients, 1, 1000),
		"attachments": text(&o.Attachments), "folders": texts(&o.Folders), "drafts": text(&o.Drafts),
		"smtp": func(d *decoder, v value) {
			d.server(v, &o.SMTP, map[string]field{"auth": word(&o.SMTP.Mechanism, "plain", "login"), "dot_timeout": duration(&o.DotTimeout, 10*time.Minute)})
		},
		"imap": func(d *decoder, v value) {
			o.IMAP = &Server{}
			d.server(v, o.IMAP, nil)
		},
		"lookups": each(func(d *decoder, v value) { o.Lookups = append(o.Lookups, d.lookup(v)) }),
	}, "account", "smtp")
	if o.Address != "" {
		if _, err := parseAddress(o.Address); err != nil {
			d.refuse(root, "account: "+err.Error(), "write the sender inbox as name@domain")
		}
	}
}

func (d *decoder) server(v value, s *Server, more map[string]field) {
	fields := map[string]field{
		"host": text(&s.Host), "port": number(&s.Port, 1, 65535), "security": word(&s.Security, securityStartTLS, securityTLS, securityNone),
		"username": text(&s.Username), "password": text(&s.Password),
		"ca_file": func(d *decoder, v value) {
			var name string
			text(&name)(d, v)
			s.TLS = d.authorities(v, name)
		},
	}
	maps.Copy(fields, more)
	d.block(v, fields, "host")
	if (s.Username == "") != (s.Password == "") {
		d.refuse(v, "username and password come together", "write both, or neither")
	}
}

// authorities trusts the certificates of a file, and no others.
func (d *decoder) authorities(v value, name string) *tls.Config {
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(name)
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		d.refuse(v, fmt.Sprintf("%s holds no certificates (%v)", name, err), "name a file of certificates in PEM")
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

func (d *decoder) lookup(v value) LookupOptions {
	var o LookupOptions
	d.block(v, map[string]field{
		"imap": texts(&o.IMAP), "log": texts(&o.Log),
		"http": func(d *decoder, v value) {
			o.HTTP = &HTTPLookup{Header: http.Header{}}
			d.block(v, map[string]field{
				"url": written(&o.HTTP.URL, &o.HTTP.Written), "list": text(&o.HTTP.List), "message_id": text(&o.HTTP.MessageID), "id": text(&o.HTTP.ID),
				"count": text(&o.HTTP.Count), "show": text(&o.HTTP.Show), "headers": d.headers(o.HTTP.Header),
			}, "url")
		},
	})
	return o
}

func (d *decoder) headers(into http.Header) field {
	return func(d *decoder, v value) {
		var pairs []*ast.MappingValueNode
		switch n := v.node.(type) {
		case *ast.MappingNode:
			pairs = n.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{n}
		default:
			d.refuse(v, "names and values must stand here", "write them as keys below it")
			return
		}
		for _, pair := range pairs {
			var content string
			name := pair.Key.GetToken().Value
			text(&content)(d, value{pair.Value, v.path + "." + name})
			if headerText(name) != "" || headerText(content) != "" {
				d.refuse(value{pair.Key, v.path + "." + name}, "holds a line break or a control character", "write it in one line")
			}
			into.Add(name, content)
		}
	}
}

func names(fields map[string]field) string {
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}
