// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/audit"
)

func (a *app) auditCommand() *cobra.Command {
	c := group("audit", "Keep a log by which others notice when history was changed", a.auditInitCommand(), a.auditAppendCommand(), a.auditVerifyCommand(), a.auditProveCommand(), a.auditCheckCommand())
	c.Long = `The ledger's events never change by anything that deed does. A log shows whether
somebody else changed them: a Merkle tree over what was recorded, with a signed
checkpoint of its size and root. It proves as much as its checkpoints that others
keep: give them away (mail, a ticket, another machine), and verify with --since.

    deed audit init     make a log and its key, once
    deed audit append   log what the ledger recorded since; --every goes on
    deed audit verify   compare the log with its checkpoint, older ones and the ledger
    deed audit prove    write down what the log has about one operation
    deed audit check    check that, with the verifier key and nothing else

Nothing waits for the log: gateways do not need it, and do not need its key. Keep
the key where those who can write the ledger cannot read it. Each tenant has a log
of its own.
`
	return c
}

// A private key begins with this.
const privateMark = "PRIVATE+KEY+"

// privateKey reads a private key. What was given is not told: it may be the key.
func privateKey(file string) (string, error) {
	data, err := os.ReadFile(file)
	text := strings.TrimSpace(string(data))
	if err != nil || !strings.HasPrefix(text, privateMark) {
		return "", fail(exitUsage, "--key is no file with the private key of a log; nothing was done; give the file that deed audit init made")
	}
	return text, nil
}

// verifierKey is a verifier key, or what is in the file that was given.
func verifierKey(given string) (string, error) {
	text := given
	if data, err := os.ReadFile(given); err == nil {
		text = strings.TrimSpace(string(data))
	}
	switch {
	case strings.HasPrefix(text, privateMark):
		return "", fail(exitUsage, "--verifier is the private key of a log, a secret; nothing was done; give the file that ends in .pub")
	case strings.Count(text, "+") < 2:
		return "", fail(exitUsage, "--verifier is neither a verifier key nor a file with one; nothing was done; give the file that deed audit init made, which ends in .pub, or its text")
	}
	return text, nil
}

// logFlag names the folder of a log.
func logFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "log", "", "`folder` of the log")
	_ = c.MarkFlagDirname("log")
	_ = c.MarkFlagRequired("log")
}

func (a *app) auditInitCommand() *cobra.Command {
	var dir, key, name string
	c := &cobra.Command{
		Use: "init --log FOLDER --key FILE --name NAME", Short: "Make an empty log and its key", Args: cobra.NoArgs,
		Long: `Makes a private key in FILE, its verifier key in FILE.pub, and an empty log in
FOLDER. The name stands in every checkpoint; write it like a host and a path.
Whoever verifies needs the verifier key from you, not from the log's folder.`,
		Example: "  deed audit init --log /var/lib/deed/audit --key /etc/deed-audit.key --name audit.example.org/acme",
		RunE:    action(func(context.Context, []string) error { return a.initAudit(dir, key, name) }),
	}
	logFlag(c, &dir)
	c.Flags().StringVar(&key, "key", "", "`file` for the private key; it must not be there yet")
	c.Flags().StringVar(&name, "name", "", "`name` of the log, such as audit.example.org/acme")
	_ = c.MarkFlagRequired("key")
	_ = c.MarkFlagRequired("name")
	return c
}

func (a *app) initAudit(dir, file, name string) error {
	private, verifier, err := audit.NewKey(name)
	if err != nil {
		return &failure{code: exitUsage, err: err}
	}
	public := file + ".pub"
	if inside, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(inside) {
		return fail(exitUsage, "--key %s is in the folder of the log, which is made to be given away; nothing was made; keep it elsewhere", file)
	}
	for _, path := range []string{file, public} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fail(exitRefused, "%s is there already; nothing was made; a log whose key is lost cannot go on, so no key is written over", path)
		}
	}
	if err := errors.Join(newFile(file, private), newFile(public, verifier)); err != nil {
		return fail(exitFailed, "writing the keys: %w; no log was made", errors.Join(err, unmade(file), unmade(public)))
	}
	at, err := audit.Create(dir, private)
	if err != nil {
		return errors.Join(err, unmade(file), unmade(public))
	}
	if a.json {
		return a.printJSON(map[string]any{"log": dir, "name": at.Name, "key": file, "verifier": verifier})
	}
	return a.print("made the log "+at.Name+" in "+dir, "private key: "+file+" (a secret: who has it can sign another history)",
		"verifier key: "+verifier, "next: deed audit append --log "+shellWord(dir)+" --key "+shellWord(file)+" --config deed.yaml")
}

// unmade removes a file of a log that was not made: nothing was signed with it.
func unmade(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// newFile writes a file that only its owner reads, and never over another one.
func newFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text + "\n")
	return errors.Join(err, file.Sync(), file.Close())
}

// toldAudit adds what to do about errors of a log.
func toldAudit(err error) error {
	switch {
	case errors.Is(err, audit.ErrNoLog):
		return &failure{code: exitUsage, err: err}
	case errors.Is(err, audit.ErrBusy):
		return fail(exitRefused, "%w; wait for it, or leave it to that one", err)
	case errors.Is(err, audit.ErrNotSigned):
		return fail(exitRefused, "%w; it is another log's, or the checkpoint was changed", err)
	case errors.Is(err, audit.ErrInconsistent), errors.Is(err, audit.ErrUnproved):
		return fail(exitFailed, "%w", err)
	case errors.Is(err, deed.ErrNotFound):
		return fail(exitNotFound, "%w", err)
	}
	return err
}
