// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"path/filepath"
)

// Surroundings tell where a user's files are. Nothing is read from the process.
type Surroundings struct {
	// GOOS is runtime.GOOS.
	GOOS string
	// Getenv reads the environment.
	Getenv func(name string) string
}

// Home returns the user's home folder, or "".
func (s Surroundings) Home() string {
	if s.GOOS == "windows" {
		return s.Getenv("USERPROFILE")
	}
	return s.Getenv("HOME")
}

// StateFolder is where deed keeps what it must remember: the ledger and backups
// of edited files. XDG_STATE_HOME counts only if it is absolute (XDG Base
// Directory Specification).
func (s Surroundings) StateFolder() (string, error) {
	home := s.Home()
	state := s.Getenv("XDG_STATE_HOME")
	switch {
	case s.GOOS == "windows" && s.Getenv("LocalAppData") != "":
		return filepath.Join(s.Getenv("LocalAppData"), "deed"), nil
	case s.GOOS == "windows" && home != "":
		return filepath.Join(home, "AppData", "Local", "deed"), nil
	case s.GOOS != "windows" && filepath.IsAbs(state):
		return filepath.Join(state, "deed"), nil
	case home == "":
		return "", errors.New("finding the ledger: no home folder is known; nothing was started; set HOME, or name the file with --ledger")
	case s.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support", "deed"), nil
	}
	return filepath.Join(home, ".local", "state", "deed"), nil
}

// DefaultLedger is the ledger of commands that are given none.
func (s Surroundings) DefaultLedger() (string, error) {
	folder, err := s.StateFolder()
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "ledger.db"), nil
}
