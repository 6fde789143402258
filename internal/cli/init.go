// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed/internal/enroll"
)

// enrolment is one run of init or uninit.
type enrolment struct {
	clients []string
	file    string
	write   bool
	plan    func(enroll.Target, enroll.Options) (enroll.Change, error)
	verb    string
}

func (a *app) initCommand() *cobra.Command {
	c := a.enrolCommand("init", "Put deed in front of the servers of your MCP clients", enroll.Plan)
	c.Long = `Finds the configuration files of Claude Code, Claude Desktop, Cursor, VS Code,
Codex and Gemini CLI, and makes every local server run through deed mcp. Names,
environment and timeouts stay. Without --write it only shows the difference;
with it, a backup is kept, and deed uninit undoes the change.`
	return c
}

func (a *app) uninitCommand() *cobra.Command {
	c := a.enrolCommand("uninit", "Take deed out of the configurations of your MCP clients", enroll.Undo)
	c.Long = `Undoes deed init: a file that was not changed since comes back byte for byte,
otherwise only deed's own entries are edited back. Without --write it only shows
the difference.`
	return c
}

func (a *app) enrolCommand(verb, short string, plan func(enroll.Target, enroll.Options) (enroll.Change, error)) *cobra.Command {
	e := enrolment{plan: plan, verb: verb}
	c := &cobra.Command{
		Use: verb, Short: short, Args: cobra.NoArgs,
		Example: "  deed " + verb + "\n  deed " + verb + " --client claude-code --write",
		RunE:    action(func(context.Context, []string) error { return a.enrol(e) }),
	}
	names := clientNames()
	c.Flags().StringSliceVar(&e.clients, "client", nil, "only these clients: "+strings.Join(names, ", "))
	c.Flags().StringVar(&e.file, "file", "", "only this `file`, of the one client named by --client")
	c.Flags().BoolVar(&e.write, "write", false, "change the files")
	_ = c.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func clientNames() []string {
	var names []string
	for _, c := range enroll.Clients() {
		names = append(names, c.Name)
	}
	return names
}

func (a *app) enrol(e enrolment) error {
	targets, err := a.targets(e)
	if err != nil {
		return err
	}
	outcomes := []enrolled{}
	var failed bool
	for _, t := range targets {
		o := a.enrolOne(e, t)
		failed = failed || o.Problem != ""
		outcomes = append(outcomes, o)
	}
	if a.json {
		err = a.printJSON(map[string]any{"files": outcomes, "written": e.write})
	} else {
		err = a.showEnrolment(e, outcomes)
	}
	if err == nil && failed {
		return exitWith(exitFailed)
	}
	return err
}

// targets lists the files to look at.
func (a *app) targets(e enrolment) ([]enroll.Target, error) {
	for _, name := range e.clients {
		if _, ok := enroll.ClientNamed(name); !ok {
			return nil, fail(exitUsage, "--client: there is no client %q; nothing was changed; use %s", name, strings.Join(clientNames(), ", "))
		}
	}
	if e.file != "" {
		if len(e.clients) != 1 {
			return nil, fail(exitUsage, "--file needs --client with the one client whose file it is; nothing was changed")
		}
		client, _ := enroll.ClientNamed(e.clients[0])
		path, err := filepath.Abs(e.file)
		if err != nil {
			return nil, fail(exitUsage, "--file: %w; nothing was changed", err)
		}
		return []enroll.Target{{Client: client, Path: path, Scope: enroll.ProjectScope}}, nil
	}
	env, err := a.clientPlaces()
	if err != nil {
		return nil, err
	}
	found, err := enroll.Find(env)
	if err != nil {
		return nil, err
	}
	if len(e.clients) > 0 {
		found = slices.DeleteFunc(found, func(t enroll.Target) bool { return !slices.Contains(e.clients, t.Client.Name) })
	}
	return found, nil
}

// clientPlaces says where the clients of this user keep their files.
func (a *app) clientPlaces() (enroll.Env, error) {
	folder, err := os.Getwd()
	if err != nil {
		return enroll.Env{}, fmt.Errorf("finding the working directory: %w; nothing was changed", err)
	}
	env := enroll.Env{GOOS: runtime.GOOS, Home: a.surroundings().Home(), WorkDir: folder, CodexHome: a.getenv("CODEX_HOME")}
	switch {
	case runtime.GOOS == "windows":
		env.ConfigDir = a.getenv("APPDATA")
	case runtime.GOOS != "darwin":
		env.ConfigDir = a.getenv("XDG_CONFIG_HOME")
	}
	return env, nil
}

// enrolled is what became of one file.
type enrolled struct {
	Client    string        `json:"client"`
	Path      string        `json:"path"`
	Changed   bool          `json:"changed"`
	Wrapped   []string      `json:"wrapped,omitempty"`
	Unwrapped []string      `json:"unwrapped,omitempty"`
	Exact     bool          `json:"exact,omitempty"`
	Left      []enroll.Note `json:"left,omitempty"`
	Notes     []enroll.Note `json:"notes,omitempty"`
	Diff      string        `json:"diff,omitempty"`
	Backup    string        `json:"backup,omitempty"`
	Problem   string        `json:"problem,omitempty"`

	title string
}

func (a *app) enrolOne(e enrolment, t enroll.Target) enrolled {
	o := enrolled{Client: t.Client.Name, Path: t.Path, title: t.Client.Title}
	options, err := a.enrolOptions(t)
	if err == nil {
		var change enroll.Change
		if change, err = e.plan(t, options); err == nil {
			o.Changed, o.Exact = !change.Empty(), change.Exact
			o.Wrapped, o.Unwrapped, o.Left, o.Notes, o.Diff = change.Wrapped, change.Unwrapped, change.Left, change.Notes, change.Diff()
			if len(change.Wrapped) > 0 {
				o.Notes = append(o.Notes, pathNote(t, options.Binary)...)
			}
			if e.write {
				o.Backup, err = enroll.Apply(change)
			}
		}
	}
	if err != nil {
		o.Problem = err.Error()
	}
	return o
}

// enrolOptions writes the absolute path of this program into a user's own
// files, because clients started from a desktop have a short PATH, and the plain
// name into files that a project shares, if that name is found and means this
// program.
func (a *app) enrolOptions(t enroll.Target) (enroll.Options, error) {
	state, err := a.surroundings().StateFolder()
	if err != nil {
		return enroll.Options{}, err
	}
	o := enroll.Options{BackupDir: filepath.Join(state, "backups")}
	if o.Binary, err = itself(); err != nil {
		return enroll.Options{}, err
	}
	if t.Scope == enroll.ProjectScope && onPath(o.Binary) {
		o.Binary = plainName
	}
	return o, nil
}

const plainName = "deed"

// onPath reports whether the plain name leads to this program.
func onPath(binary string) bool {
	found, err := exec.LookPath(plainName)
	if err != nil {
		return false
	}
	there, err := os.Stat(found)
	if err != nil {
		return false
	}
	own, err := os.Stat(binary)
	return err == nil && os.SameFile(there, own)
}

// pathNote tells that a file which a project shares names a place on this machine.
func pathNote(t enroll.Target, binary string) []enroll.Note {
	if t.Scope != enroll.ProjectScope || binary == plainName {
		return nil
	}
	return []enroll.Note{{
		Kind:   "path",
		Reason: "the file names " + binary + ", because deed is not found on PATH, or is another program there",
		Advice: "before others use the file, install deed and write deed in its place",
	}}
}

func (a *app) showEnrolment(e enrolment, outcomes []enrolled) error {
	if len(outcomes) == 0 {
		return a.print("no configuration of a known client was found; name one with --client and --file")
	}
	var lines []string
	pending := false
	for _, o := range outcomes {
		lines = append(lines, o.title+": "+o.Path)
		switch {
		case o.Problem != "":
			lines = append(lines, "  problem: "+o.Problem)
		case !o.Changed:
			lines = append(lines, "  nothing to change")
		case e.write:
			lines = append(lines, "  changed"+servers(o))
		default:
			pending = true
			lines = append(lines, "  would change"+servers(o))
		}
		if o.Backup != "" {
			lines = append(lines, "  backup: "+o.Backup)
		}
		for _, n := range append(append([]enroll.Note(nil), o.Left...), o.Notes...) {
			lines = append(lines, "  "+noteLine(n))
		}
		if o.Diff != "" && !e.write {
			lines = append(lines, "", strings.TrimSuffix(o.Diff, "\n"))
		}
		lines = append(lines, "")
	}
	if pending {
		return a.print(append(lines, "nothing was written; run deed "+e.verb+" --write to change the files")...)
	}
	return a.print(lines[:len(lines)-1]...)
}

func servers(o enrolled) string {
	names := append(append([]string(nil), o.Wrapped...), o.Unwrapped...)
	if len(names) == 0 {
		return ""
	}
	return ": " + plain(strings.Join(names, ", "))
}

func noteLine(n enroll.Note) string {
	text := n.Reason
	if n.Server != "" {
		text = n.Server + ": " + text
	}
	if n.Line > 0 {
		text = fmt.Sprintf("line %d: %s", n.Line, text)
	}
	if n.Advice != "" {
		text += "; " + n.Advice
	}
	return plain(text)
}
