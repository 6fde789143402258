// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deed-run/deed/faultkit/inject"
)

// ProveOptions configure the checks of a tool of your own. The tool is really
// called: once or twice per check. Point it at a test account.
type ProveOptions struct {
	// Binary is the path of the gateway.
	Binary string
	// Fixture is a command that runs FixtureMain; its "pipe" stands between the
	// gateway and a tool server that is a command.
	Fixture []string
	// Config is your deed.yaml. Its rules are kept, and relative paths in it start
	// from its folder; its ledger is replaced by a new one for every check.
	Config string
	// Tool is upstream/tool as the configuration names it.
	Tool string
	// Args are the arguments. {{n}} in them becomes another word in every check,
	// for servers that refuse what exists already.
	Args json.RawMessage
	// OtherArgs are arguments of another effect, for the conflict check; empty
	// means Args with a letter added to its first text, or one to its first number.
	OtherArgs json.RawMessage
	// Count, if set, counts all effects of the tool so far; the checks use the
	// growth. Without it, effects are bounded by the requests that were passed on.
	Count func(ctx context.Context) (int, error)
	// CountCommand does the same with a command that prints a number.
	CountCommand []string
	// Only limits the run to the checks of these names.
	Only []string
	// Patience bounds one check; 0 means two minutes.
	Patience time.Duration
	// Dir is the working directory of the gateway; empty means this process's.
	Dir     string
	Env     []string
	Stderr  io.Writer
	Observe func(Row)
}

// ProveTool checks your tool behind the gateway with lost answers, a crash,
// duplicates and a reused key. The tool need not cooperate. The report is as in
// Run; an error means that nothing, or with rows nothing more, could be judged. It is
// a *HeldError where the rules let no such call through.
func ProveTool(ctx context.Context, o ProveOptions) (Report, error) {
	if o.Binary == "" || len(o.Fixture) == 0 || o.Config == "" || o.Tool == "" {
		return Report{}, errors.New("prove tool: binary, fixture command, configuration and tool (as upstream/name) are needed: nothing was started")
	}
	upstream, tool, ok := strings.Cut(o.Tool, "/")
	if !ok {
		return Report{}, fmt.Errorf("prove tool: the tool %q names no upstream: nothing was started; write it as upstream/name", o.Tool)
	}
	c, err := readConfig(o.Config)
	if err != nil {
		return Report{}, err
	}
	if _, err := c.upstream(upstream); err != nil {
		return Report{}, err
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	if o.OtherArgs == nil {
		if o.OtherArgs, err = otherArguments(o.Args); err != nil {
			return Report{}, err
		}
	}
	if _, err := o.count(ctx); err != nil {
		return Report{}, fmt.Errorf("prove tool: %w: nothing was sent; it has to print a number before the first effect too, 0 for none", err)
	}
	report := Report{Door: Stdio}
	for _, check := range toolChecks() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, check.Name) {
			continue
		}
		row, err := o.run(ctx, c, upstream, tool, check)
		if err != nil {
			return report, err
		}
		if row.Verdict == Broken && ctx.Err() != nil {
			return report, ctx.Err()
		}
		report.Rows = append(report.Rows, row)
		if o.Observe != nil {
			o.Observe(row)
		}
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
	}
	if len(report.Rows) == 0 {
		return report, fmt.Errorf("prove tool: none of the checks %v exists: nothing was started", o.Only)
	}
	return report, nil
}

// run plays one check with processes, a ledger and a fault controller of its own. The
// error is a *HeldError.
func (o ProveOptions) run(ctx context.Context, c config, upstream, tool string, check toolCheck) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	row := Row{Scenario: check.Name, Asks: check.Asks, Requests: Unknown, Effects: Unknown, Verdict: Broken}
	dir, err := os.MkdirTemp("", "deed-prove-")
	if err != nil {
		row.Problems = []string{err.Error()}
		return row, nil
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{controller: &inject.Controller{}, tool: tool}
	b.key = "prove:" + check.Name + ":" + filepath.Base(dir)
	b.args = fill(o.Args, filepath.Base(dir))
	b.other = fill(o.OtherArgs, filepath.Base(dir))
	front, err := o.interpose(c, upstream, b.controller)
	if err != nil {
		row.Problems = []string{err.Error()}
		return row, nil
	}
	defer front.close()
	edited := maps.Clone(c)
	edited["ledger"] = "sqlite:" + ledgerPath(dir)
	edited["upstreams"] = map[string]any{upstream: front.entry}
	b.gateway = Gateway{
		Binary: o.Binary, Config: filepath.Join(dir, "deed.yaml"), Upstream: upstream, Env: o.Env, Dir: o.Dir, Stderr: o.Stderr,
	}
	before, err := o.count(ctx)
	if err == nil {
		err = edited.write(b.gateway.Config)
	}
	if err == nil {
		err = b.start(ctx)
	}
	if err == nil {
		err = errors.Join(check.play(ctx, b), b.stop())
	}
	after := Unknown
	if err == nil {
		after, err = o.count(ctx)
	}
	if held, ok := errors.AsType[*HeldError](err); ok {
		return row, held
	}
	if err != nil {
		row.Decisions, row.Problems = b.steps, append(b.wrong, err.Error())
		return row, nil
	}
	row.Decisions, row.Requests = b.steps, len(b.controller.Calls())
	if before != Unknown {
		row.Effects = after - before
	}
	return b.judge(row), nil
}

// judge compares the counts: one operation, so one request and one effect.
func (b *bench) judge(row Row) Row {
	if row.Requests != 1 {
		b.problem("%d requests were passed on to the tool, want 1", row.Requests)
	}
	if row.Effects != Unknown && row.Effects != 1 {
		b.problem("%d effects were counted, want 1", row.Effects)
	}
	row.Problems = b.wrong
	switch {
	case row.Requests > 1 || row.Effects > 1:
		row.Verdict = Duplicated
	case len(b.wrong) > 0:
		row.Verdict = Wrong
	default:
		row.Verdict = Pass
	}
	return row
}

// front is what the gateway takes for the tool server.
type front struct {
	entry map[string]any
	close func()
}

// interpose puts a pipe in front of a command or a proxy in front of a URL.
func (o ProveOptions) interpose(c config, upstream string, controller *inject.Controller) (front, error) {
	original, err := c.upstream(upstream)
	if err != nil {
		return front{}, err
	}
	entry := maps.Clone(original)
	if address, ok := entry["url"].(string); ok {
		target, err := url.Parse(address)
		if err != nil {
			return front{}, fmt.Errorf("prove tool: upstream %s: %w", upstream, err)
		}
		server := httptest.NewServer(&inject.Proxy{Target: target, Judge: controller})
		entry["url"] = server.URL
		return front{entry: entry, close: server.Close}, nil
	}
	command := words(entry["command"])
	if len(command) == 0 {
		return front{}, fmt.Errorf("prove tool: upstream %s has neither command nor url: nothing was started", upstream)
	}
	folder, err := filepath.Abs(filepath.Dir(o.Config))
	if err != nil {
		return front{}, fmt.Errorf("prove tool: %w", err)
	}
	cwd, _ := entry["cwd"].(string)
	entry["cwd"] = under(folder, cwd, o.getenv)
	piped := []any{}
	fixture := slices.Clone(o.Fixture)
	if strings.ContainsRune(fixture[0], filepath.Separator) {
		if fixture[0], err = filepath.Abs(fixture[0]); err != nil {
			return front{}, fmt.Errorf("prove tool: %w", err)
		}
	}
	server := httptest.NewServer(controller.Handler())
	for _, word := range append(fixture, "pipe", "--control", server.URL, "--") {
		piped = append(piped, word)
	}
	entry["command"] = append(piped, command...)
	return front{entry: entry, close: server.Close}, nil
}

// count asks for the number of effects so far, or Unknown.
func (o ProveOptions) count(ctx context.Context) (int, error) {
	if o.Count != nil {
		n, err := o.Count(ctx)
		if err != nil {
			return Unknown, fmt.Errorf("count effects: %w", err)
		}
		return n, nil
	}
	if len(o.CountCommand) == 0 {
		return Unknown, nil
	}
	out, err := exec.CommandContext(ctx, o.CountCommand[0], o.CountCommand[1:]...).Output()
	var exited *exec.ExitError
	if errors.As(err, &exited) && len(exited.Stderr) > 0 {
		return Unknown, fmt.Errorf("count effects: %s: %w: %s", o.CountCommand[0], err, bytes.TrimSpace(exited.Stderr))
	}
	if err != nil {
		return Unknown, fmt.Errorf("count effects: %s: %w", o.CountCommand[0], err)
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(out)))
	if err != nil {
		return Unknown, fmt.Errorf("count effects: %s printed no number: %w", o.CountCommand[0], err)
	}
	return n, nil
}

// fill replaces {{n}} by a word that is new in every check.
func fill(args json.RawMessage, word string) json.RawMessage {
	return bytes.ReplaceAll(args, []byte("{{n}}"), []byte(strings.ToLower(word)))
}
