// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// Console is how people reach the console.
type Console struct {
	// AllowedHosts are the names it is reached by, beside those of loopback.
	AllowedHosts []string
	// Address is the base URL that links name; empty for that of the request.
	Address string
	// TraceURL is a link to a trace with {trace_id}, {operation_id}, {tool},
	// {key} and {meta.NAME} in it.
	TraceURL string
}

func consoleKeys() []key[Console] {
	return []key[Console]{
		{name: "allowed_hosts", read: func(d *decoder, at place, c *Console) { c.AllowedHosts = d.hosts(at) }},
		{name: "address", read: func(d *decoder, at place, c *Console) {
			var value Value
			if d.baseURL(at, &value); value.Text != "" {
				c.Address = strings.TrimSuffix(value.Text, "/")
			}
		}},
		{name: "trace_url", read: func(d *decoder, at place, c *Console) { d.traceURL(at, c) }},
	}
}

func (d *decoder) hosts(at place) []string {
	var list []string
	for _, item := range d.items(at, "host names") {
		value, ok := d.expanded(item)
		if !ok {
			continue
		}
		host := strings.ToLower(value.Text)
		switch {
		case strings.ContainsAny(host, "/*@ ") || strings.Contains(host, ":") && net.ParseIP(host) == nil:
			d.refuse(item, host+" is no name of a host", "write the name alone, without scheme, port, path and *")
		case slices.Contains(list, host):
			d.refuse(item, host+" is there already", "remove it")
		default:
			list = append(list, host)
		}
	}
	return list
}

func (d *decoder) traceURL(at place, c *Console) {
	value, ok := d.expanded(at)
	if !ok {
		return
	}
	const remedy = "write {trace_id}, {operation_id}, {tool}, {key} or {meta.NAME}"
	places := spot.FindAllStringSubmatch(value.Text, -1)
	for _, place := range places {
		switch name := place[1]; {
		case name == "meta" && len(place[2]) > 1, place[2] == "" && slices.Contains([]string{"trace_id", "operation_id", "tool", "key"}, name):
		default:
			d.refuse(at, place[0]+" stands for nothing here", remedy)
			return
		}
	}
	u, err := url.Parse(spot.ReplaceAllString(value.Text, "x"))
	_, rest, _ := strings.Cut(value.Text, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || spot.MatchString(host):
		d.refuse(at, "is no URL of a page", "write https://, a host and a path with places in it")
	case len(places) == 0:
		d.refuse(at, "names no place, so that every operation has the same trace", remedy)
	default:
		c.TraceURL = value.Text
	}
}
