// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deed-run/deed/mcpgate"
)

// sdkServer is a server made with the official SDK: an outside opinion of both eras.
func sdkServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{Instructions: "Be kind."})
	type in struct {
		Name string `json:"name"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, map[string]any, error) {
			return nil, map[string]any{"greeting": "hi " + a.Name}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "create"}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "created " + a.Name}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "steps", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for i := range 3 {
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)})
				if err != nil {
					return nil, nil, err
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "3 steps"}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "ask", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}}})
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Action, answer.Content)}}}, nil, nil
		})
	server.AddResource(&mcp.Resource{URI: "file:///a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///a", Text: "content"}}}, nil
	})
	return server
}

const (
	legacyEra = "2025-11-25"
	modernEra = "2026-07-28"
)

// sdkUpstream returns the SDK's server as an upstream, and a transport that reaches it without a gateway.
func sdkUpstream(t *testing.T, kind, era string) (mcpgate.Upstream, mcp.Transport) {
	t.Helper()
	if kind == "stdio" {
		env := append(os.Environ(), "MCPGATE_SDK=1")
		command := mcpgate.Command{Args: []string{os.Args[0]}, Env: env, Stderr: io.Discard, Log: func(string) {}, StopWait: time.Second}
		return command, &mcp.CommandTransport{Command: sdkCommand(env)}
	}
	server := sdkServer()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: era == modernEra})
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	remote := &mcpgate.Remote{URL: listener.URL, Log: func(string) {}}
	t.Cleanup(func() { remote.Close() })
	return remote, &mcp.StreamableClientTransport{Endpoint: listener.URL}
}

// gateway puts a gateway before the upstream and returns a transport that reaches it.
func gateway(t *testing.T, kind string, upstream mcpgate.Upstream, guard mcpgate.Guard) mcp.Transport {
	t.Helper()
	if kind == "http" {
		url := serveHTTP(t, mcpgate.HTTPOptions{Upstreams: map[string]mcpgate.Upstream{"sdk": upstream}, Local: tester, Guard: guard})
		return &mcp.StreamableClientTransport{Endpoint: url + "/mcp/sdk"}
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := mcpgate.Stdio{Name: "sdk", Upstream: upstream, Principal: tester, Guard: guard, Drain: time.Second}.Serve(context.Background(), inR, outW)
		outW.Close()
		done <- err
	}()
	t.Cleanup(func() {
		inW.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &mcp.IOTransport{Reader: outR, Writer: inW}
}

// story is what a client sees of a server, as JSON by step.
func story(t *testing.T, transport mcp.Transport, era string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	progress := make(chan float64, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"ok": true}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
	})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer session.Close()
	seen := map[string]string{}
	note := func(step string, v any, err error) {
		raw, marshalErr := json.Marshal(v)
		if marshalErr != nil {
			t.Fatal(marshalErr)
		}
		seen[step] = fmt.Sprintf("%s %v", raw, err)
	}
	init := session.InitializeResult()
	note("initialize", init, nil)
	tools, err := session.ListTools(ctx, nil)
	note("tools/list", tools, err)
	for _, name := range []string{"greet", "create"} {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"name": "you"}})
		note("call "+name, result, err)
	}
	steps := &mcp.CallToolParams{Name: "steps"}
	steps.SetProgressToken("token")
	result, err := session.CallTool(ctx, steps)
	note("call steps", result, err)
	for i := range 3 {
		select {
		case v := <-progress:
			note(fmt.Sprint("progress ", i), v, nil)
		case <-time.After(time.Minute):
			t.Error("progress is missing")
		}
	}
	if era == legacyEra {
		result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "ask"})
		note("call ask", result, err)
	}
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "nope"})
	note("call nope", nil, err)
	resource, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///a"})
	note("read", resource, err)
	_, err = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///b"})
	note("read nothing", nil, err)
	return seen
}

func TestTheSDKSeesNoProxy(t *testing.T) {
	for _, era := range []string{legacyEra, modernEra} {
		for _, up := range []string{"stdio", "http"} {
			for _, down := range []string{"stdio", "http"} {
				t.Run(fmt.Sprintf("%s, client on %s, server on %s", era, down, up), func(t *testing.T) {
					upstream, _ := sdkUpstream(t, up, era)
					// The SDK's client words errors by its own transport: compare with the same one.
					_, direct := sdkUpstream(t, down, era)
					want := story(t, direct, era)
					got := story(t, gateway(t, down, upstream, nil), era)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	}
}

func TestTheSDKIsGuardedInBothEras(t *testing.T) {
	for _, era := range []string{legacyEra, modernEra} {
		for _, up := range []string{"stdio", "http"} {
			for _, down := range []string{"stdio", "http"} {
				t.Run(fmt.Sprintf("%s, client on %s, server on %s", era, down, up), func(t *testing.T) {
					upstream, _ := sdkUpstream(t, up, era)
					transport := gateway(t, down, upstream, build(t, nil, hints(nil), nil).gate)
					ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
					defer cancel()
					session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
					if err != nil {
						t.Fatal(err)
					}
					defer session.Close()
					for _, want := range []string{"execute", "replay"} {
						result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "create", Arguments: map[string]any{"name": "you", "idempotency_key": "create:you:the:first"}})
						if err != nil {
							t.Fatal(err)
						}
						note, _ := result.Meta["deed/operation"].(map[string]any)
						if note["decision"] != want || note["status"] != "committed" {
							t.Errorf("got %v, want %s", note, want)
						}
					}
				})
			}
		}
	}
}
