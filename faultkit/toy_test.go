// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/deed-run/deed/faultkit/caller"
)

// toy is a gateway that keeps the promises with a file and a lock. It lets the
// suite be tested without the real one, and its planted bugs show that the suite
// sees what it is for.
type toy struct {
	bug      string
	upstream caller.Command
	path     string

	mu   sync.Mutex
	ops  map[string]*toyOperation
	file *os.File

	calling sync.Mutex
	session *caller.Stdio
}

type toyOperation struct {
	ID, Key, Fingerprint, Status string
	Result                       json.RawMessage
	live                         chan struct{}
}

// runToy is "deed mcp --config F --upstream U".
func runToy(args []string, bug string) error {
	text, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	var config struct {
		Ledger    string
		Upstreams map[string]struct{ Command []string }
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return err
	}
	command := config.Upstreams[args[4]].Command
	t := &toy{bug: bug, ops: map[string]*toyOperation{}, path: strings.TrimPrefix(config.Ledger, "sqlite:")}
	t.upstream = caller.Command{Path: command[0], Args: command[1:], Grace: time.Second}
	if err := t.load(); err != nil {
		return err
	}
	defer func() {
		if t.session != nil {
			_ = t.session.Close()
		}
	}()
	return t.serve(os.Stdin, os.Stdout)
}

func (t *toy) load() error {
	var err error
	if t.file, err = os.OpenFile(t.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return err
	}
	decoder := json.NewDecoder(t.file)
	for {
		var op toyOperation
		if err := decoder.Decode(&op); err != nil {
			return nil //nolint:nilerr // a torn last line is an operation that never began
		}
		if op.Status == "executing" {
			op.Status = "uncertain"
		}
		if t.bug == "forget-on-restart" && op.Status == "uncertain" {
			continue
		}
		t.ops[op.Key] = &op
	}
}

func (t *toy) store(op *toyOperation) {
	line, _ := json.Marshal(op)
	_, _ = t.file.Write(append(line, '\n'))
	_ = t.file.Sync()
}

func (t *toy) serve(in io.Reader, out io.Writer) error {
	var writing sync.Mutex
	var calls sync.WaitGroup
	defer calls.Wait()
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
				Meta      map[string]json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal(scanner.Bytes(), &m); err != nil || m.ID == nil {
			continue
		}
		calls.Go(func() {
			result := json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"toy","version":"1"}}`)
			if m.Method == "tools/call" {
				var key string
				_ = json.Unmarshal(m.Params.Meta["deed/idempotency-key"], &key)
				result = t.call(key, m.Params.Name, m.Params.Arguments)
			}
			writing.Lock()
			defer writing.Unlock()
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		})
	}
	return scanner.Err()
}

func (t *toy) call(key, tool string, args json.RawMessage) json.RawMessage {
	sum := sha256.Sum256(append([]byte(tool), args...))
	fingerprint := hex.EncodeToString(sum[:])
	t.mu.Lock()
	if op, known := t.ops[key]; known && t.bug != "no-memory" {
		live := op.live
		t.mu.Unlock()
		if live != nil {
			<-live
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.known(op, fingerprint)
	}
	for _, twin := range t.ops {
		if twin.Fingerprint == fingerprint && twin.Status == "uncertain" && t.bug != "no-twins" {
			defer t.mu.Unlock()
			return answer(twin, "uncertain", "twin_unresolved", nil)
		}
	}
	op := &toyOperation{ID: "op_" + key, Key: key, Fingerprint: fingerprint, Status: "executing", live: make(chan struct{})}
	t.ops[key] = op
	crash("P1")
	if t.bug != "send-before-store" {
		t.store(op)
	}
	crash("P2")
	t.mu.Unlock()
	result, err := t.forward(tool, args)
	crash("P3")
	t.mu.Lock()
	defer t.mu.Unlock()
	op.Status, op.Result = "committed", result.Raw
	var rpc *caller.RPCError
	switch {
	case errors.As(err, &rpc) && rpc.Code == -32602:
		op.Status = "failed"
	case err != nil:
		op.Status = "uncertain"
	}
	if t.bug == "lost-is-failed" && op.Status == "uncertain" {
		op.Status = "failed"
	}
	t.store(op)
	crash("P4")
	close(op.live)
	op.live = nil
	return answer(op, "execute", "", op.Result)
}

// crash ends the process at the point that the environment names.
func crash(point string) {
	if os.Getenv("DEED_CRASH_AT") == point {
		os.Exit(137)
	}
}

func (t *toy) known(op *toyOperation, fingerprint string) json.RawMessage {
	switch {
	case op.Fingerprint != fingerprint && t.bug != "no-conflict":
		return answer(op, "conflict", "idempotency_key_reused_with_different_effect", nil)
	case op.Status == "committed":
		return answer(op, "replay", "stored", op.Result)
	default:
		return answer(op, op.Status, "", nil)
	}
}

func answer(op *toyOperation, decision, reason string, result json.RawMessage) json.RawMessage {
	members := map[string]any{"content": []any{}, "isError": result == nil}
	if result != nil {
		_ = json.Unmarshal(result, &members)
	}
	meta := caller.Operation{
		ID: op.ID, Key: op.Key, Provenance: "runtime", Status: op.Status, Decision: decision, Reason: reason,
		Replayed: decision == "replay", Attempt: 1, Fingerprint: op.Fingerprint, Receipt: json.RawMessage("null"),
	}
	if op.Status == "committed" {
		meta.Receipt = json.RawMessage(`{"remote_id":"r"}`)
	}
	members["_meta"] = map[string]any{"deed/operation": meta}
	line, _ := json.Marshal(members)
	return line
}

// forward sends the call once, on a fresh connection when the last one died.
func (t *toy) forward(tool string, args json.RawMessage) (caller.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	t.calling.Lock()
	if t.session != nil {
		select {
		case <-t.session.Exited():
			t.session = nil
		default:
		}
	}
	if t.session == nil {
		s, err := caller.StartStdio(ctx, t.upstream)
		if err != nil {
			t.calling.Unlock()
			return caller.Result{}, err
		}
		t.session = s
	}
	s := t.session
	t.calling.Unlock()
	result, err := caller.CallTool(ctx, s, caller.Call{Tool: tool, Arguments: args})
	if t.bug == "retry" && errors.Is(err, caller.ErrNoAnswer) {
		if s, err = caller.StartStdio(context.Background(), t.upstream); err == nil {
			defer func() { _ = s.Close() }()
			return caller.CallTool(context.Background(), s, caller.Call{Tool: tool, Arguments: args})
		}
	}
	return result, err
}
