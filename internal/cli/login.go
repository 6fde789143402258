// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/api"
)

func (a *app) loginCommand() *cobra.Command {
	var server string
	var forget bool
	c := &cobra.Command{
		Use: "login --server URL", Short: "Keep the bearer token of a running daemon for --server", Args: cobra.NoArgs,
		Long: `Reads the token from standard input, one line, tries it, and keeps it in a file
that only you can read. ` + tokenVariable + ` in the environment wins over it. --forget removes it.`,
		Example: "  deed login --server https://deed.example.com < token.txt\n  deed login --server https://deed.example.com --forget",
		RunE: action(func(ctx context.Context, _ []string) error {
			if forget {
				return a.keepToken(server, "")
			}
			line, err := bufio.NewReader(a.Stdin).ReadString('\n')
			token := strings.TrimSpace(line)
			if token == "" {
				return fail(exitUsage, "no token came on standard input (%v); nothing was kept; write it there as one line", err)
			}
			client, err := api.New(api.Options{BaseURL: server, Token: token})
			if err != nil {
				return fail(exitUsage, "--server %q is no address of a daemon; nothing was kept; write http://host:port", server)
			}
			if asksNobody(ctx, server) {
				return fail(exitRefused, "%s asks nobody for a token: no auth is configured there, so that whoever reaches it may look and nobody may decide; the token was not kept; "+
					"declare auth.tokens, or decide on its machine with deed ops --ledger; the token that deed serve prints is for the console only", server)
			}
			if _, err := client.Stats(ctx); err != nil {
				return fmt.Errorf("%w; the token was not kept", (&serverDesk{base: server}).explain(err))
			}
			if err := a.keepToken(server, token); err != nil {
				return err
			}
			return a.print("the token of " + server + " is kept; deed ops --server " + shellWord(server) + " uses it")
		}),
	}
	c.Flags().StringVar(&server, "server", "", "`URL` of a running daemon")
	c.Flags().BoolVar(&forget, "forget", false, "remove the kept token")
	_ = c.MarkFlagRequired("server")
	return c
}

// asksNobody reports whether a daemon answers without a token: there any token
// would seem to be known.
func asksNobody(ctx context.Context, server string) bool {
	nobody, err := api.New(api.Options{BaseURL: server})
	if err != nil {
		return false
	}
	_, err = nobody.Stats(ctx)
	return err == nil
}

// tokensFile holds tokens by server.
func (a *app) tokensFile() (string, error) {
	folder, err := a.surroundings().StateFolder()
	if err != nil {
		return "", &failure{code: exitUsage, err: err}
	}
	return filepath.Join(folder, "tokens.json"), nil
}

func (a *app) keptTokens() (map[string]string, string, error) {
	path, err := a.tokensFile()
	if err != nil {
		return nil, "", err
	}
	tokens := map[string]string{}
	doc, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tokens, path, nil
	case err != nil:
		return nil, path, err
	}
	if err := json.Unmarshal(doc, &tokens); err != nil {
		return nil, path, fmt.Errorf("%s cannot be read: %w; nothing was done; remove the file and run deed login again", path, err)
	}
	return tokens, path, nil
}

// tokenFor finds the token for a server, "" when none is known: a daemon that
// serves its own machine only wants none.
func (a *app) tokenFor(server string) (string, error) {
	if token := a.getenv(tokenVariable); token != "" {
		return token, nil
	}
	tokens, _, err := a.keptTokens()
	if err != nil {
		return "", err
	}
	return tokens[strings.TrimSuffix(server, "/")], nil
}

func (a *app) keepToken(server, token string) error {
	tokens, path, err := a.keptTokens()
	if err != nil {
		return err
	}
	server = strings.TrimSuffix(server, "/")
	if delete(tokens, server); token != "" {
		tokens[server] = token
	}
	doc, err := json.MarshalIndent(tokens, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, append(doc, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
