// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin && !windows

package cli

import (
	"errors"
	"os"
)

func terminalColumns(*os.File) (int, error) { return 0, errors.New("not known on this system") }
