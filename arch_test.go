// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/deed-run/deed"

// allowed is the import law: what each package of this module may import of
// it, with the reason. A package that is not listed may import nothing of it.
var allowed = map[string]map[string]string{
	"":         {"internal/canon": "fingerprints are computed in the domain"},
	"sqlite":   {"": "a driver of the domain's Store"},
	"postgres": {"": "a driver of the domain's Store", "postgres/*": "its own parts"},
	"httpgate": {"": "every mutating path passes the Runtime", "outcome": "classifies what upstreams answer", "internal/canon": "strict JSON", "internal/keyheader": "reads keys as every door does", "internal/loopback": "knows this machine as every door does",
		"internal/problems": "says no in the words of every door", "httpgate/*": "its own parts"},
	"storetest": {"": "the contract that drivers are tested against"},
	"policy":    {"": "fills the domain's Rule", "internal/canon": "explains fingerprints and checks their rules at load", "internal/loopback": "knows this machine as the doors do"},
	"telemetry": {"": "an Observer of the domain"},
	"reconcile": {"": "Reconcilers of the domain", "outcome": "classifies what look-ups are answered"},
	"outcome":   {"": "its verdicts are words of the domain"},
	"postgres/internal/pgtest": {
		"test/pgcluster": "tests the driver on servers of its own",
	},
	"connector": {
		"": "its answers are outcomes of the domain", "outcome": "classifies what providers answer", "internal/canon": "strict JSON and pointers into it",
	},
	"connector/mail": {
		"": "its answers are outcomes of the domain", "outcome": "classifies what mail servers reply", "internal/loopback": "knows this machine as the doors do",
	},
	"mcpgate": {
		"": "every mutating path passes the Runtime", "outcome": "classifies what upstreams answer",
		"internal/canon": "strict JSON and exact editing of arguments", "internal/keyheader": "reads keys as every door does",
		"internal/loopback": "knows this machine as every door does", "mcpgate/internal/*": "its own parts",
	},
	"faultkit": {
		"faultkit/*": "its own parts; it runs the gateway's binary and never links it", "internal/loopback": "the gateway wants a port",
	},
	"internal/bench": {
		"": "measures the Runtime", "sqlite": "on the shipping ledger", "sqlite/*": "beside its floor",
		"faultkit": "with the fixture provider", "faultkit/*": "with the fixture provider",
		"postgres": "on the ledger for many machines", "test/pgcluster": "on a server that it starts itself",
		"internal/loopback": "servers want ports",
	},
	"api":   {"": "its words are those of the domain"},
	"audit": {"": "its records are events of the domain"},
	"internal/server": {
		"": "every mutating path passes the Runtime", "api": "speaks its wire types", "internal/canon": "strict JSON", "internal/keyheader": "reads keys as every door does",
		"internal/loopback": "knows this machine as every door does", "internal/problems": "says no in the words of every door",
	},
	"internal/console": {
		"": "every decision of a person passes the Runtime", "api": "exports its wire types", "internal/canon": "compares effects by their canonical form",
		"internal/loopback": "knows this machine as every door does",
	},
	"internal/daemon": {
		"": "wires", "internal/server": "wires", "api": "wires", "sqlite": "wires", "postgres": "wires", "httpgate": "wires", "reconcile": "wires", "internal/console": "wires", "internal/notify": "wires", "connector": "wires", "connector/*": "wires", "policy": "wires", "mcpgate": "wires", "telemetry": "wires", "outcome": "hands rules over", "internal/loopback": "listens to this machine alone",
	},
	"internal/cli": {
		"": "operator verbs", "internal/daemon": "starts it", "internal/enroll": "init and uninit", "internal/canon": "hash",
		"internal/bench": "bench", "audit": "logs of a ledger", "connector": "the catalogue", "policy": "config and tools", "sqlite": "ops on a ledger", "faultkit": "prove and demo", "faultkit/*": "prove and demo",
		"mcpgate": "lists the tools of an upstream", "telemetry": "switches it on", "api": "ops on a running daemon",
		"outcome": "reads stored answers as the gateway does",
	},
	"internal/problems": {"": "has words for the domain's decisions and reasons"},
	"internal/notify":   {"": "names operations"},
	"cmd/deed":          {"internal/cli": "main"},
}

// packages lists the packages of the module with their non-test imports.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	list := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		list[inModule(fields[0])] = fields[1:]
	}
	return list
}

func inModule(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

func lawOf(pkg string) map[string]string {
	for name := pkg; ; name = filepath.Dir(name) {
		if law, ok := allowed[name]; ok {
			return law
		}
		if !strings.Contains(name, "/") {
			return nil
		}
	}
}

func permits(law map[string]string, imported string) bool {
	for name := range law {
		prefix, tree := strings.CutSuffix(name, "*")
		if name == imported || tree && strings.HasPrefix(imported+"/", prefix) {
			return true
		}
	}
	return false
}

func TestImportsFollowTheLaw(t *testing.T) {
	for pkg, imports := range packages(t) {
		if strings.HasPrefix(pkg, "test/") || strings.HasPrefix(pkg, "scripts/") {
			continue
		}
		for _, path := range imports {
			if path != module && !strings.HasPrefix(path, module+"/") {
				continue
			}
			imported := inModule(path)
			if strings.HasPrefix(imported, pkg+"/") && pkg != "" || permits(lawOf(pkg), imported) {
				continue
			}
			t.Errorf("%s imports %q: the import law has no reason for that", pkg, imported)
		}
	}
}

// The adapter to Temporal is a module of its own, which embedders do not load.
func TestTheTemporalModuleImportsOfThisOneTheRootOnly(t *testing.T) {
	files, err := filepath.Glob("temporal/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the module's files: %v, %v", files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); strings.HasPrefix(path, module+"/") {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

func TestEmbeddersGetOnlyTheStandardLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, path := range strings.Fields(string(out)) {
		if path != module && path != module+"/internal/canon" {
			t.Errorf("the root depends on %s", path)
		}
	}
}

// decisionFiles hold pure functions.
var decisionFiles = []string{
	"status.go", "state.go", "state_table.go", "state_cause.go", "state_learn.go", "state_lapse.go", "decide.go", "decide_inquiry.go",
	"decide_begin.go", "decide_twins.go", "reason.go", "attempt.go", "operation.go", "receipt.go", "reconcile_verdict.go", "consent.go",
	"budget.go", "budget_amount.go", "budget_booking.go",
}

func TestDecisionFilesArePure(t *testing.T) {
	forbidden := []string{"context", "sync", "os", "net", "net/http", "io", "math/rand", "crypto/rand"}
	for _, name := range decisionFiles {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := call.X.(*ast.Ident); ok && pkg.Name == "time" && (call.Sel.Name == "Now" || call.Sel.Name == "Since") {
					t.Errorf("%s: reads the clock", files.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// sources lists the Go files of the repository.
func sources(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".", d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			list = append(list, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOnlyStateMovesAnOperation(t *testing.T) {
	for _, path := range sources(t) {
		if strings.HasSuffix(path, "_test.go") || path == "state.go" || filepath.Dir(path) != "." {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, left := range assign.Lhs {
				field, ok := left.(*ast.SelectorExpr)
				if !ok || field.Sel.Name != "Status" {
					continue
				}
				if owner, ok := field.X.(*ast.Ident); ok && owner.Name == "receipt" {
					continue
				}
				t.Errorf("%s: sets a status outside state.go", files.Position(assign.Pos()))
			}
			return true
		})
	}
}

func TestFilesAreShortAndCarryTheLicence(t *testing.T) {
	const header = "// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0\n"
	for _, path := range sources(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 500 {
			t.Errorf("%s has %d lines, more than 500", path, lines)
		}
		if !bytes.HasPrefix(text, []byte(header)) && !bytes.HasPrefix(text, []byte("//go:build")) {
			t.Errorf("%s does not begin with the licence line", path)
		}
		dir := filepath.Base(filepath.Dir(path))
		if slices.Contains([]string{"util", "utils", "common", "helpers", "misc"}, dir) {
			t.Errorf("%s: a package says what it is about", path)
		}
	}
}
