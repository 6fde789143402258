// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"io"
	"net/http"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/mcpgate"
	"github.com/deed-run/deed/outcome"
	"github.com/deed-run/deed/policy"
)

// NewUpstream makes the connection that a configuration describes. environ is the
// environment that a command's own variables are added to.
func NewUpstream(up policy.Upstream, environ []string, clock deed.Clock, stderr io.Writer, log func(string)) mcpgate.Upstream {
	if up.URL.Text != "" {
		header := http.Header{}
		for name, value := range up.Headers {
			header.Set(name, value.Text)
		}
		return &mcpgate.Remote{URL: up.URL.Text, Written: up.URL.Source, Header: header, Log: log, Now: clock.Now}
	}
	command := mcpgate.Command{
		Name: up.Name, Dir: up.Cwd, Env: append([]string(nil), environ...), Stderr: stderr, Log: log, Now: clock.Now,
	}
	for _, word := range up.Command {
		command.Args = append(command.Args, word.Text)
	}
	if up.Program != "" {
		command.Args[0] = up.Program
	}
	for name, value := range up.Env {
		command.Env = append(command.Env, name+"="+value.Text)
	}
	return command
}

// answerRules says how a tool's answers are read.
func answerRules(config *policy.Config) func(deed.Tool) outcome.Rules {
	return func(tool deed.Tool) outcome.Rules {
		settings := config.ToolSettings(tool)
		rules := outcome.Rules{
			ErrorsAreFailures: settings.IsError == policy.IsErrorFailed,
			Receipt: outcome.Pointers{
				System: settings.Receipt.System, ID: settings.Receipt.ID, URL: settings.Receipt.URL, Require: settings.Receipt.Require,
			},
		}
		for _, rule := range settings.Failed {
			rules.Failed = append(rules.Failed, outcome.Failed{
				Text: rule.Text, Code: rule.Code, Final: rule.Final, AnyResult: rule.AnyResult, RetryAfter: rule.RetryAfter,
				Status: rule.Status, RetryAfterRequired: rule.RetryAfterRequired,
			})
		}
		return rules
	}
}
