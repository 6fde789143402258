// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"context"
	"io"

	"github.com/deed-run/deed/faultkit/inject"
	"github.com/deed-run/deed/faultkit/provider"
)

// FixtureMain is the fixture command: "serve" and "stdio" run the provider, "pipe"
// a reply-cutting pipe around another command. A program that runs scenarios
// without a fixture binary offers it as a hidden command of its own. Args exclude
// the program's name; the result is the exit code.
func FixtureMain(ctx context.Context, args []string, in io.Reader, out, problems io.Writer) int {
	if len(args) > 0 && args[0] == "pipe" {
		return inject.Main(ctx, args[1:], in, out, problems)
	}
	return provider.Main(ctx, args, in, out, problems)
}
