// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Command tally reads the event streams of `go test -json`. It prints what
// `go test` prints without -json and keeps the events, or sums kept streams up:
//
//	go test -json ./... | tally -keep events.json
//	tally -sum events.json other.json
//
// The sum lists the failures and ends with the line `N passed, N failed`
// (`, N skipped` follows if there were any). A test that contains subtests
// counts beside them. Either form exits with 1 when something failed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	keep := flag.String("keep", "", "print standard input as go test would, and keep its events in this `file`")
	sum := flag.Bool("sum", false, "sum up the files given as arguments")
	flag.Parse()
	failed, err := run(*keep, *sum, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

func run(keep string, sum bool, files []string) (failed bool, err error) {
	switch {
	case keep != "" && !sum && len(files) == 0:
		return keepStream(keep)
	case sum && keep == "" && len(files) > 0:
		return sumFiles(files)
	default:
		return false, fmt.Errorf("give either -keep FILE, or -sum and the files to sum up")
	}
}

func keepStream(name string) (failed bool, err error) {
	file, err := os.Create(name)
	if err != nil {
		return false, fmt.Errorf("keep the events: %w", err)
	}
	var tally Tally
	err = tally.Read(io.TeeReader(os.Stdin, file), os.Stdout)
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("keep the events: %w", closeErr)
	}
	return tally.Failed() > 0, err
}

func sumFiles(names []string) (failed bool, err error) {
	var tally Tally
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return false, fmt.Errorf("sum up: %w", err)
		}
		err = tally.Read(file, io.Discard)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return false, fmt.Errorf("sum up %s: %w", name, err)
		}
	}
	tally.Print(os.Stdout)
	return tally.Failed() > 0, nil
}
