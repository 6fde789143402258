// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mcpgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate/internal/rawjson"
)

// localLink is a session with tools inside this process. It speaks both eras, because nothing of a session needs to be kept.
type localLink struct {
	upstream LocalUpstream
	ctx      context.Context
	stop     context.CancelCauseFunc
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// sessionVersions are the versions with a handshake that local tools are served in, oldest first.
var sessionVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// codeVersion is MCP 2026-07-28's UnsupportedProtocolVersionError.
const codeVersion = -32022

func (l *localLink) Ready(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrUpstreamClosed
	}
	return nil
}

func (l *localLink) Send(ctx context.Context, x *Exchange) {
	m := x.Message
	if !m.IsRequest() {
		x.end(Reply{Delivery: Answered})
		return
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.work.Add(1)
	}
	l.mu.Unlock()
	if closed {
		x.end(Reply{Delivery: Unsent, Err: ErrUpstreamClosed})
		return
	}
	go func() {
		defer l.work.Done()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
		x.end(l.answer(ctx, x))
	}()
}

// Close ends what is under way and waits for it.
func (l *localLink) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop(ErrUpstreamClosed)
	l.work.Wait()
	return nil
}

func (l *localLink) answer(ctx context.Context, x *Exchange) Reply {
	m := x.Message
	modern := modernVersion(m, x.Header)
	result := func(raw []byte) Reply {
		return Reply{Delivery: Answered, Message: ResultMessage(m.ID, whole(raw, modern != ""))}
	}
	refuse := func(code int, text string) Reply {
		return Reply{Delivery: Answered, Message: ErrorMessage(m.ID, code, text)}
	}
	if modern > stateless {
		return Reply{Delivery: Answered, Message: unsupported(m, modern)}
	}
	switch m.Method {
	case "initialize":
		asked, _ := rawjson.Text(m.Params, "protocolVersion")
		if !slices.Contains(sessionVersions, asked) {
			asked = sessionVersions[len(sessionVersions)-1]
		}
		return result(fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":{"tools":{}},"serverInfo":%s}`, rawjson.Quote(asked), l.info()))
	case "server/discover":
		versions, _ := json.Marshal(append(slices.Clone(sessionVersions), stateless))
		return result(fmt.Appendf(nil, `{"supportedVersions":%s,"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":%s}}`, versions, l.info()))
	case "ping":
		return result([]byte(`{}`))
	case "tools/list":
		list, err := l.upstream.Tools.Tools(ctx)
		if err != nil {
			return refuse(codeInternal, "tools/list: "+err.Error())
		}
		if modern != "" {
			list = withDefault(withDefault(list, "0", "ttlMs"), `"private"`, "cacheScope")
		}
		return result(list)
	case "tools/call":
		return l.call(ctx, x, modern != "")
	}
	return refuse(codeNoMethod, m.Method+": there is no such method here")
}

func (l *localLink) info() string {
	return fmt.Sprintf(`{"name":%s,"version":%s}`, rawjson.Quote(l.upstream.Name), rawjson.Quote(l.upstream.Version))
}

// call runs one tool. Whatever the tool does, its outcome reaches the dispatcher as it is, and a client that asked directly gets a result.
func (l *localLink) call(ctx context.Context, x *Exchange, modern bool) Reply {
	m := x.Message
	name, _ := rawjson.Text(m.Params, "name")
	arguments, ok := rawjson.Get(m.Params, "arguments")
	if !ok {
		arguments = json.RawMessage("{}")
	}
	grant := x.Grant
	if grant == nil {
		grant = &deed.Grant{Arguments: arguments, Unrecorded: true, Rule: deed.DefaultRule(deed.Tool(l.upstream.Name + "/" + name))}
	}
	if x.Gate != nil {
		if _, err := x.Gate(); err != nil {
			return Reply{Delivery: Unsent, Err: err}
		}
	}
	out := l.run(ctx, name, grant, arguments)
	if !rawjson.IsObject(out.Result) {
		out.Result = nil
	}
	out.ResultIsError = out.Result != nil && isErrorResult(out.Result)
	shown := out.Result
	if shown == nil {
		text := out.Message
		if text == "" {
			text = string(out.Kind)
		}
		shown = textResult(out.Kind != deed.OutcomeSuccess, text)
	}
	return Reply{Delivery: Answered, Message: ResultMessage(m.ID, whole(shown, modern)), Outcome: &out}
}

// run calls the tool; a panic says nothing of what was sent before it.
func (l *localLink) run(ctx context.Context, name string, grant *deed.Grant, arguments []byte) (out deed.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = deed.Outcome{Kind: deed.OutcomeUnknown, Reason: deed.ReasonOutcomeUnknown, Message: fmt.Sprintf("the tool panicked: %v", p)}
		}
	}()
	out = l.upstream.Tools.Call(ctx, name, grant, arguments)
	if cause := context.Cause(ctx); out.Kind == deed.OutcomeUnknown && out.Message == "" && errors.Is(cause, ErrUpstreamClosed) {
		out.Message = "the gateway stopped before the answer came"
	}
	return out
}

// whole gives a result the type that MCP 2026-07-28 requires of every result.
func whole(result []byte, modern bool) []byte {
	if !modern {
		return result
	}
	return withDefault(result, `"complete"`, "resultType")
}

func withDefault(object []byte, value, member string) []byte {
	if _, has := rawjson.Get(object, member); has {
		return object
	}
	if with, err := rawjson.Set(object, []byte(value), member); err == nil {
		return with
	}
	return object
}

func unsupported(m Message, requested string) Message {
	versions, _ := json.Marshal(append(slices.Clone(sessionVersions), stateless))
	out := ErrorMessage(m.ID, codeVersion, "this version of the protocol is not spoken here")
	data := fmt.Sprintf(`{"supported":%s,"requested":%s}`, versions, rawjson.Quote(requested))
	if e, err := rawjson.Set(out.Error, []byte(data), "data"); err == nil {
		if with, err := out.With("error", e); err == nil {
			return with
		}
	}
	return out
}
