// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `fixture is a tool provider that misbehaves on command.

  fixture serve --dir DIR [--tools ADDR] [--control ADDR] [--until-stdin-closes]
      serves MCP at /mcp and plain HTTP at /tools/{tool}; the first line on
      standard output names the URLs as JSON
  fixture stdio --server CONTROL-URL
      is a stdio MCP server in front of a running "fixture serve"
  fixture stdio --dir DIR [--faults JSON]
      is a stdio MCP server with ledgers of its own

Flags of serve and of stdio --dir: --faults, --annotations, --lookup,
--provider-key-support, --unique-ids, --index-lag-ms, --lookup-ms, --sse,
--underscores.
FIXTURE_SERVER, FIXTURE_DIR and FIXTURE_FAULTS stand in for the flags of the
same name.
`

// Main runs the fixture as a process: args exclude the program name, the result
// is the exit code (0 done, 1 failed or cut by a fault, 2 usage).
func Main(ctx context.Context, args []string, in io.Reader, out, problems io.Writer) int {
	run := map[string]func(context.Context, options, io.Reader, io.Writer) error{"serve": serve, "stdio": stdio}
	if len(args) == 0 || run[args[0]] == nil {
		_, _ = io.WriteString(problems, usage)
		return 2
	}
	o, err := parse(args[1:], problems)
	if err != nil {
		_, _ = fmt.Fprintln(problems, "fixture:", err)
		return 2
	}
	if err := run[args[0]](ctx, o, in, out); err != nil {
		_, _ = fmt.Fprintln(problems, "fixture:", err)
		return 1
	}
	return 0
}

type options struct {
	provider Options
	server   string
	tools    string
	control  string
	// onLeash ends serve with its standard input, so that no server outlives the
	// process that started it, however that one ends.
	onLeash bool
}

func parse(args []string, problems io.Writer) (options, error) {
	o := options{provider: Options{Settings: DefaultSettings()}}
	s := &o.provider.Settings
	flags := flag.NewFlagSet("fixture", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() { _, _ = io.WriteString(problems, usage) }
	flags.StringVar(&o.provider.Dir, "dir", os.Getenv("FIXTURE_DIR"), "")
	flags.StringVar(&o.server, "server", os.Getenv("FIXTURE_SERVER"), "")
	flags.StringVar(&o.tools, "tools", "127.0.0.1:0", "")
	flags.StringVar(&o.control, "control", "127.0.0.1:0", "")
	flags.BoolVar(&o.onLeash, "until-stdin-closes", false, "")
	flags.StringVar((*string)(&s.Annotations), "annotations", string(s.Annotations), "")
	flags.StringVar((*string)(&s.Lookup), "lookup", string(s.Lookup), "")
	flags.BoolVar(&s.ProviderKeySupport, "provider-key-support", false, "")
	flags.BoolVar(&s.UniqueIDs, "unique-ids", false, "")
	flags.IntVar(&s.IndexLagMS, "index-lag-ms", 0, "")
	flags.IntVar(&s.LookupMS, "lookup-ms", 0, "")
	flags.BoolVar(&s.SSE, "sse", false, "")
	flags.BoolVar(&s.Underscores, "underscores", false, "")
	orders := flags.String("faults", os.Getenv("FIXTURE_FAULTS"), "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if *orders != "" {
		if err := json.Unmarshal([]byte(*orders), &o.provider.Faults); err != nil {
			return o, fmt.Errorf("faults must be a JSON list: %w", err)
		}
	}
	return o, nil
}

func serve(ctx context.Context, o options, in io.Reader, out io.Writer) error {
	p, err := Open(o.provider)
	if err != nil {
		return err
	}
	s, err := Listen(p, o.tools, o.control)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	if _, err := out.Write(append(line(s.Addresses()), '\n')); err != nil {
		return errors.Join(err, s.Close())
	}
	ended := make(chan struct{})
	if o.onLeash {
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, in)
		}()
	}
	select {
	case <-ctx.Done():
	case <-ended:
	}
	return s.Close()
}

func stdio(ctx context.Context, o options, in io.Reader, out io.Writer) error {
	if o.server != "" {
		return ServeChild(ctx, o.server, in, out)
	}
	for _, f := range o.provider.Faults {
		if f.Fault == Hang && f.Params.MS <= 0 || f.Fault == RefuseConn {
			return fmt.Errorf("fault %q needs a control port to end it: nothing was started; give params.ms or use --server", f.Fault)
		}
	}
	p, err := Open(o.provider)
	if err != nil {
		return err
	}
	err = p.ServeStdio(ctx, in, out)
	return errors.Join(err, p.Close())
}
