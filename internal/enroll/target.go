// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Env says where the clients keep their files. Nothing is read from the
// process: the caller fills it in.
type Env struct {
	GOOS    string // as runtime.GOOS
	Home    string // the user's home folder
	WorkDir string // the project folder, for project files; empty looks at none

	// ConfigDir is the user's configuration folder (os.UserConfigDir). Empty
	// means the platform's usual place under Home.
	ConfigDir string
	// CodexHome is $CODEX_HOME; empty means Home/.codex.
	CodexHome string
}

// Scope says for whom a configuration file counts.
type Scope string

const (
	// ProjectScope files belong to one project folder and are often shared.
	ProjectScope Scope = "project"
	// UserScope files belong to one user.
	UserScope Scope = "user"
)

// Target is one configuration file of one client. A caller may build one for a
// file at an unusual place.
type Target struct {
	Client Client
	Path   string
	Scope  Scope
}

// Candidates returns every place looked at, existing or not, in the order of
// [Clients], project files first.
func Candidates(env Env) []Target {
	config := env.configDir()
	codex := env.CodexHome
	if codex == "" && env.Home != "" {
		codex = filepath.Join(env.Home, ".codex")
	}
	places := map[string][]Target{
		"claude-code":    {at(ProjectScope, env.WorkDir, ".mcp.json")},
		"claude-desktop": {at(UserScope, config, "Claude", "claude_desktop_config.json")},
		"cursor":         {at(ProjectScope, env.WorkDir, ".cursor", "mcp.json"), at(UserScope, env.Home, ".cursor", "mcp.json")},
		"vscode":         {at(ProjectScope, env.WorkDir, ".vscode", "mcp.json"), at(UserScope, config, "Code", "User", "mcp.json")},
		"codex":          {at(ProjectScope, env.WorkDir, ".codex", "config.toml"), at(UserScope, codex, "config.toml")},
		"gemini":         {at(ProjectScope, env.WorkDir, ".gemini", "settings.json"), at(UserScope, env.Home, ".gemini", "settings.json")},
	}
	var all []Target
	for _, client := range Clients() {
		for _, t := range places[client.Name] {
			known := slices.ContainsFunc(all, func(o Target) bool { return o.Path == t.Path })
			if t.Path == "" || known {
				continue
			}
			t.Client = client
			all = append(all, t)
		}
	}
	return all
}

// Find returns the candidates that exist, a dangling link included so that
// [Plan] can say what is wrong with it. A place that cannot be looked at is an
// error naming it.
func Find(env Env) ([]Target, error) {
	var found []Target
	for _, t := range Candidates(env) {
		_, err := os.Lstat(t.Path)
		switch {
		case err == nil:
			found = append(found, t)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		default:
			return nil, fmt.Errorf("looking for %s configuration at %s: %w; nothing was changed; make the folder readable or name the file yourself", t.Client.Title, t.Path, err)
		}
	}
	return found, nil
}

// at returns a place under root, or an empty one where root is not known.
func at(scope Scope, root string, parts ...string) Target {
	if root == "" {
		return Target{}
	}
	return Target{Scope: scope, Path: filepath.Join(append([]string{root}, parts...)...)}
}

func (e Env) configDir() string {
	switch {
	case e.ConfigDir != "":
		return e.ConfigDir
	case e.Home == "":
		return ""
	case e.GOOS == "darwin":
		return filepath.Join(e.Home, "Library", "Application Support")
	case e.GOOS == "windows":
		return filepath.Join(e.Home, "AppData", "Roaming")
	default:
		return filepath.Join(e.Home, ".config")
	}
}
