// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
)

var claims = regexp.MustCompile(`(?i)\bdelivered\b|\bsent to the recipients?\b|\breceived by\b|\btry again\b`)

// TestNoTextClaimsThatAMailArrived looks at every text of the package: what it accepted is all that a mail server says.
func TestNoTextClaimsThatAMailArrived(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("internal/smtp/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, more...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && claims.MatchString(text.Value) {
				t.Errorf("%s: %s", name, text.Value)
			}
			return true
		})
	}
	guide, err := os.ReadFile("../../docs/mail.md")
	if err != nil {
		t.Fatal(err)
	}
	if found := claims.Find(guide); found != nil {
		t.Errorf("docs/mail.md says %q", found)
	}
}

// TestTheServersOwnClaimsAreNotPassedOn: a server that says more than it knows is not quoted.
func TestTheServersOwnClaimsAreNotPassedOn(t *testing.T) {
	server := startPost(t, nil)
	server.refuse = func(stage, _ string) error {
		if stage == "reply" {
			return &smtp.SMTPError{Code: 250, EnhancedCode: smtp.EnhancedCode{2, 0, 0}, Message: "Message delivered to everybody, queued as 4F2A17B"}
		}
		return nil
	}
	out := call(t, t.Context(), account(t, server.address, nil), "mail_send", plainMail())
	if of(out) != accepted || claims.MatchString(out.Message) || claims.Match(out.Result) {
		t.Errorf("got %v: %s\n%s", of(out), out.Message, out.Result)
	}
	if structured(t, out)["queue_id"] != "4F2A17B" {
		t.Errorf("the queue id is lost: %s", out.Result)
	}
}
