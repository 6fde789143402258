// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/deed-run/deed"

// BareOptions change the defaults of deed mcp without a configuration file.
// The zero value is complete.
type BareOptions struct {
	// Key is required when empty.
	Key deed.Need
	// Mode is enforce when empty.
	Mode deed.Mode
	// Tenant and Actor are "default" and "local" when empty.
	Tenant deed.Tenant
	Actor  deed.Actor
	// Upstreams are the servers that were given without a file.
	Upstreams []Upstream
}

// BareConfig returns the configuration of deed mcp without a file: the defaults,
// with reads found by name and refused content held with a warning only.
func BareConfig(options BareOptions) *Config {
	config := defaultConfig()
	config.Defaults.UnknownTool = UnknownInfer
	config.Defaults.AfterConflict = deed.AfterConflictWarn
	if options.Key != "" {
		config.Defaults.Key.Need = options.Key
	}
	if options.Mode != "" {
		config.Defaults.Mode = options.Mode
	}
	if options.Tenant != "" {
		config.Tenant = options.Tenant
	}
	if options.Actor != "" {
		config.Actor = options.Actor
	}
	for _, up := range options.Upstreams {
		config.Upstreams[up.Name] = up
	}
	config.Revision = revisionOf(config)
	return config
}
