// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package linear_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// process is a worker as its clients see it.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	ended   chan struct{}
}

func startProcess(ledger, bug string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(program), waiting: map[int]chan reply{}, ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), workerVariable+"="+ledger, bugVariable+"="+bug)
	p.command.Stderr = os.Stderr
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// read hands replies over until the process ends, however it does.
func (p *process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var told reply
		if json.Unmarshal(lines.Bytes(), &told) != nil {
			break // half a line: it was killed while it wrote
		}
		p.mu.Lock()
		waiting := p.waiting[told.ID]
		delete(p.waiting, told.ID)
		p.mu.Unlock()
		waiting <- told
	}
	_ = p.command.Wait()
	close(p.ended)
}

// ask sends one request and waits; false when the process ended before it
// answered.
func (p *process) ask(asked input) (reply, bool) {
	answered := make(chan reply, 1)
	p.mu.Lock()
	p.next++
	id := p.next
	p.waiting[id] = answered
	line, err := json.Marshal(request{ID: id, input: asked})
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	p.mu.Unlock()
	if err != nil {
		return reply{}, false
	}
	select {
	case told := <-answered:
		return told, true
	case <-p.ended:
	}
	select {
	case told := <-answered:
		return told, true
	default:
		return reply{}, false
	}
}

// kill ends it with SIGKILL.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// stop lets it finish.
func (p *process) stop() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	<-p.ended
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("a worker ended with code %d", code)
	}
	return nil
}
