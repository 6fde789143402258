// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"
)

// The parts of a run.
const (
	PartGuarded = "guarded"
	PartReplay  = "replay"
	PartSize    = "size"
	PartMCP     = "mcp"
)

// Parts lists what Options.Only may name.
func Parts() []string { return []string{PartGuarded, PartReplay, PartSize, PartMCP} }

// run is one run of the whole.
type run struct {
	Options
	folder string
	files  int
	report Report
}

// Run measures and reports. Ledgers are written into a new folder, which is
// removed at the end. An error means that something could not be measured; a
// missed target is not an error but a verdict in the report.
func Run(ctx context.Context, o Options) (report Report, err error) {
	o = o.withDefaults()
	for _, part := range o.Only {
		if !slices.Contains(Parts(), part) {
			return Report{}, fmt.Errorf("there is no part %q; nothing was measured; the parts are %v", part, Parts())
		}
	}
	if o.Program == "" && (len(o.Only) == 0 || slices.Contains(o.Only, PartMCP)) {
		return Report{}, errors.New("the path of deed is not given; nothing was measured; set Options.Program, or leave the part mcp out")
	}
	dir, err := diskFolder(o.Dir)
	if err != nil {
		return Report{}, err
	}
	folder, err := os.MkdirTemp(dir, "deed-bench-")
	if err != nil {
		return Report{}, fmt.Errorf("making a folder for ledgers: %w; nothing was measured; name another with --dir", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r := &run{Options: o, folder: folder}
	r.report.Machine = machine(dir)
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{
		{PartGuarded, r.guarded}, {PartReplay, r.replays}, {PartSize, r.size}, {PartMCP, r.mcp},
	} {
		if len(o.Only) > 0 && !slices.Contains(o.Only, part.name) {
			continue
		}
		if err := part.run(ctx); err != nil {
			return r.report, fmt.Errorf("measuring %s: %w", part.name, err)
		}
	}
	r.report.Targets = r.report.targets()
	return r.report, nil
}

func (r *run) guarded(ctx context.Context) error {
	for _, load := range []struct{ callers, calls int }{{1, r.Single}, {callers, r.Grouped}} {
		t, err := r.measureThroughput(ctx, load.callers, load.calls)
		if err != nil {
			return err
		}
		r.report.Throughput = append(r.report.Throughput, t)
	}
	return nil
}

func (r *run) replays(ctx context.Context) error {
	measured, err := r.measureReplays(ctx)
	r.report.Replays = &measured
	return err
}

func (r *run) size(ctx context.Context) error {
	measured, err := r.measureSize(ctx)
	r.report.Size = &measured
	return err
}

// mcp measures the floor too when nothing else did: a bound is made of it.
func (r *run) mcp(ctx context.Context) error {
	if r.report.singleFloor() == 0 {
		t, err := r.measureThroughput(ctx, 1, r.Single)
		if err != nil {
			return err
		}
		r.report.Throughput = append(r.report.Throughput, t)
	}
	var err error
	r.report.Overhead, err = r.measureOverhead(ctx)
	return err
}

func (r *run) say(format string, values ...any) {
	_, _ = fmt.Fprintf(r.Progress, format+"\n", values...)
}

// pause lets the machine come to rest before a measurement.
func (r *run) pause() {
	runtime.GC()
	time.Sleep(settleDown)
}

// drive measures a load, with profiles of it when they are wanted.
func (r *run) drive(ctx context.Context, name string, callers, count int, do func(context.Context, int) error) (sample, error) {
	r.pause()
	stop, err := r.profile(name)
	if err != nil {
		return sample{}, err
	}
	s, err := drive(ctx, callers, count, do)
	return s, errors.Join(err, stop())
}

// profile writes the profiles of one load; later rounds replace earlier ones.
func (r *run) profile(name string) (stop func() error, err error) {
	if r.Profile == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(r.Profile, 0o700); err != nil {
		return nil, fmt.Errorf("profiling: %w; nothing was measured", err)
	}
	cpu, err := os.Create(filepath.Join(r.Profile, name+".cpu"))
	if err != nil {
		return nil, fmt.Errorf("profiling: %w", err)
	}
	runtime.SetMutexProfileFraction(5)
	runtime.SetBlockProfileRate(10000)
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(fmt.Errorf("profiling: %w", err), cpu.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		runtime.SetMutexProfileFraction(0)
		runtime.SetBlockProfileRate(0)
		errs := []error{cpu.Close()}
		for _, kind := range []string{"mutex", "block", "allocs"} {
			file, err := os.Create(filepath.Join(r.Profile, name+"."+kind))
			if err == nil {
				err = errors.Join(pprof.Lookup(kind).WriteTo(file, 0), file.Close())
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}, nil
}

// remove deletes a ledger that is done with, to keep the disk's cache for the
// next.
func (r *run) remove(path string) {
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + end)
	}
}
