// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  deed version\n  deed version --json",
		RunE:    action(func(context.Context, []string) error { return a.showVersion() }),
	}
}

func (a *app) showVersion() error {
	b := a.build()
	if a.json {
		return a.printJSON(map[string]string{
			"version": b.Version, "revision": b.Revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	text := "deed " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision + ")"
	}
	return a.print(fmt.Sprintf("%s %s %s/%s", text, runtime.Version(), runtime.GOOS, runtime.GOARCH))
}
