// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
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

// auditKey is a key: what was given, or what is in the file that it names.
func auditKey(given, flag string) (string, error) {
	if given == "" {
		return "", fail(exitUsage, "%s is missing; nothing was done; deed audit init made it", flag)
	}
	data, err := os.ReadFile(given)
	switch {
	case err == nil:
		return strings.TrimSpace(string(data)), nil
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(given, "+"):
		return given, nil
	}
	return "", fail(exitUsage, "%s: %w; nothing was done; give the file that deed audit init made", flag, err)
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
	for _, path := range []string{file, public} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fail(exitRefused, "%s is there already; nothing was made; a log whose key is lost cannot go on, so no key is written over", path)
		}
	}
	if err := errors.Join(newFile(file, private), newFile(public, verifier)); err != nil {
		return fail(exitFailed, "writing the keys: %w; no log was made", err)
	}
	at, err := audit.Create(dir, private)
	if err != nil {
		// Nothing was signed with these keys.
		return errors.Join(err, os.Remove(file), os.Remove(public))
	}
	if a.json {
		return a.printJSON(map[string]any{"log": dir, "name": at.Name, "key": file, "verifier": verifier})
	}
	return a.print("made the log "+at.Name+" in "+dir, "private key: "+file+" (a secret: who has it can sign another history)",
		"verifier key: "+verifier, "next: deed audit append --log "+shellWord(dir)+" --key "+shellWord(file)+" --config deed.yaml")
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
	case errors.Is(err, audit.ErrBusy):
		return fail(exitRefused, "%w; it goes on; a second one is not needed", err)
	case errors.Is(err, audit.ErrNotSigned):
		return fail(exitRefused, "%w; it is another log's, or the checkpoint was changed", err)
	case errors.Is(err, audit.ErrInconsistent), errors.Is(err, audit.ErrUnproved):
		return fail(exitFailed, "%w", err)
	case errors.Is(err, deed.ErrNotFound):
		return fail(exitNotFound, "%w", err)
	}
	return err
}
