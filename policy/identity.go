// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// UpstreamIdentity says where the effects of an upstream go, as the ledger
// records it: the declared account, else the URL, else a digest of the
// resolved command, its arguments, working directory and literal variables.
// What a variable of the environment put in is left out, so that a new token
// is the same place. It is "" for an upstream that is not declared, and
// for a program without an account.
func (c *Config) UpstreamIdentity(name string) string {
	if up, ok := c.Upstreams[name]; ok {
		return up.Identity()
	}
	if up, ok := c.HTTP[name]; ok {
		return up.Identity()
	}
	if program, ok := c.Programs[name]; ok {
		return program.Account
	}
	return c.Connectors[name].Account
}

// Identity is [Config.UpstreamIdentity] for one upstream.
func (u Upstream) Identity() string {
	switch {
	case u.Account != "":
		return u.Account
	case u.URL.Source != "":
		return u.URL.Source
	}
	form := struct {
		Program string            `json:"program"`
		Args    []string          `json:"args"`
		Cwd     string            `json:"cwd"`
		Env     map[string]string `json:"env"`
	}{Program: u.Program, Args: []string{}, Cwd: u.Cwd, Env: map[string]string{}}
	for i, arg := range u.Command {
		switch {
		case i > 0:
			form.Args = append(form.Args, arg.Source)
		case arg.Secret || form.Program == "":
			form.Program = arg.Source
		}
	}
	for name, value := range u.Env {
		if !value.Secret {
			form.Env[name] = value.Source
		}
	}
	doc, err := json.Marshal(form)
	if err != nil {
		// Strings always marshal; an identity that cannot be told fits none.
		return ""
	}
	sum := sha256.Sum256(doc)
	return "command sha256:" + hex.EncodeToString(sum[:])
}

// NewCommand describes a command that was given outside of a file, such as on
// the command line of deed mcp. folder is its working directory.
func NewCommand(name string, command []string, folder string, env func(string) string) Upstream {
	up := Upstream{Name: name, Cwd: folder}
	for _, word := range command {
		up.Command = append(up.Command, Literal(word))
	}
	if len(command) > 0 {
		up.Program = resolve(command[0], folder, env)
	}
	return up
}

// resolve finds the program that a word names, as a shell would; a word that
// names none on this machine stands for itself.
func resolve(word, folder string, env func(string) string) string {
	if strings.ContainsRune(word, '/') || strings.ContainsRune(word, filepath.Separator) {
		return under(folder, word)
	}
	if env == nil {
		return word
	}
	for _, dir := range filepath.SplitList(env("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, suffix := range programSuffixes() {
			path := filepath.Join(dir, word+suffix)
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() && (suffix != "" || runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
				return path
			}
		}
	}
	return word
}

func programSuffixes() []string {
	if runtime.GOOS == "windows" {
		return []string{".com", ".exe", ".bat", ".cmd", ""}
	}
	return []string{""}
}
