// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/faultkit"
)

// fixtureCommand runs the fixture provider of faultkit, so that prove and demo
// need no second binary.
func (a *app) fixtureCommand() *cobra.Command {
	return &cobra.Command{
		Use: "fixture", Short: "Run the provider that misbehaves on command", Hidden: true, DisableFlagParsing: true,
		RunE: action(func(ctx context.Context, args []string) error {
			if code := faultkit.FixtureMain(ctx, args, a.Stdin, a.Stdout, a.Stderr); code != exitDone {
				return exitWith(code)
			}
			return nil
		}),
	}
}

// itself is the path of this binary, for commands that start it again.
func itself() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w; nothing was started", err)
	}
	return path, nil
}
