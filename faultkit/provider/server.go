// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package provider

import "errors"

// Addresses say where a server can be reached.
type Addresses struct {
	// Tools is the base URL of the plain HTTP tools, MCP the Streamable HTTP
	// endpoint, Control the base URL of the control port.
	Tools   string `json:"tools"`
	MCP     string `json:"mcp"`
	Control string `json:"control"`
}

// Server serves a provider on two ports: tools, which faults can shut, and
// control, which always answers.
type Server struct {
	provider *Provider
	tools    *door
	control  *door
}

// Listen starts serving. The addresses are host:port; port 0 picks a free one.
func Listen(p *Provider, tools, control string) (*Server, error) {
	s := &Server{provider: p}
	var err error
	if s.tools, err = openDoor(tools, p.Handler()); err != nil {
		return nil, err
	}
	if s.control, err = openDoor(control, p.controlHandler()); err != nil {
		_ = s.tools.shut()
		return nil, err
	}
	p.gate.watch(func(refusing bool) {
		if refusing {
			_ = s.tools.shut()
			return
		}
		// A taken port shows as a refused connection, which is what the caller
		// asked to end: it cannot be reported better from here.
		_ = s.tools.open()
	})
	return s, nil
}

// Addresses returns the URLs.
func (s *Server) Addresses() Addresses {
	return Addresses{
		Tools: "http://" + s.tools.address, MCP: "http://" + s.tools.address + "/mcp", Control: "http://" + s.control.address,
	}
}

// Close closes the provider, then both ports.
func (s *Server) Close() error {
	err := s.provider.Close()
	return errors.Join(err, s.tools.shut(), s.control.shut())
}
