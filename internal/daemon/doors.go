// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/httpgate"
	"github.com/deed-run/deed/internal/server"
	"github.com/deed-run/deed/policy"
)

// routesOf compiles the routes of every HTTP API, by its name.
func routesOf(config *policy.Config) (map[string]*httpgate.Routes, error) {
	all := map[string]*httpgate.Routes{}
	for name := range config.HTTP {
		var list []httpgate.Route
		for _, r := range config.Routes {
			if r.Upstream == name {
				list = append(list, routeOf(r))
			}
		}
		routes, err := httpgate.NewRoutes(name, list)
		if err != nil {
			return nil, &ConfigError{fmt.Errorf("%s: %w; nothing was started", config.File, err)}
		}
		all[name] = routes
	}
	return all, nil
}

func routeOf(r policy.Route) httpgate.Route {
	return httpgate.Route{
		Method: r.Method, Pattern: r.Pattern, Tool: deed.Tool(r.Upstream + "/" + r.Method + " " + r.Pattern), As: r.As,
		Profile: r.Profile, Key: r.Key, Scope: r.Entry.Scope, Fingerprint: r.Entry.Fingerprint, Matter: r.Entry.Matter, Query: r.Query, Headers: r.Headers,
		Twins: r.Twins, Effect: r.Entry.Effect, Refused: r.Refused, Busy: r.Busy, MaxBody: r.MaxBody,
	}
}

// routed puts what the routes say over the rules of the tools.
func routed(base deed.Policy, routes map[string]*httpgate.Routes) deed.Policy {
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		base = routes[name].Policy(base)
	}
	return base
}

// doors are the reverse proxies in front of the configured HTTP APIs.
type doors struct {
	handlers map[string]http.Handler
	gates    []*httpgate.Gate
}

// openDoors makes a proxy for every HTTP API of the configuration. hosts are names of
// this gateway beside those of loopback.
func openDoors(c *Core, auth server.Authenticator, hosts []string) (*doors, error) {
	d := &doors{handlers: map[string]http.Handler{}}
	for name, up := range c.Config.HTTP {
		gate, err := httpgate.New(httpgate.Options{
			Routes: c.routes[name], Runtime: c.Runtime, Policy: c.Policy, Auth: auth, Identity: up.Identity(),
			Outcomes: answerRules(c.Config), Hosts: hosts, Log: c.log, Clock: c.Clock,
		})
		if err != nil {
			return nil, errors.Join(err, d.close(context.Background()))
		}
		d.gates = append(d.gates, gate)
		header := http.Header{}
		for name, value := range up.Headers {
			header.Set(name, value.Text)
		}
		proxy, err := gate.Proxy(httpgate.Upstream{URL: up.URL.Text, Written: up.URL.Source, Header: header, ForwardCredentials: up.ForwardCredentials, KeyHeader: up.KeyHeader})
		if err != nil {
			return nil, errors.Join(err, d.close(context.Background()))
		}
		d.handlers[name] = http.StripPrefix("/http/"+name, proxy)
	}
	return d, nil
}

// close waits until every attempt has been settled, or cuts it when ctx ends.
func (d *doors) close(ctx context.Context) error {
	errs := make([]error, 0, len(d.gates))
	for _, gate := range d.gates {
		errs = append(errs, gate.Close(ctx))
	}
	return errors.Join(errs...)
}
