// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package faultkit

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
)

// upstreamName is how the gateway's configuration calls the tool server.
const upstreamName = "fixture"

// waits are the gateway's patience in the built-in scenarios: short, because a
// real process is waited for, and far apart, because a slow machine must not
// change a verdict.
func waits() map[string]any {
	return map[string]any{
		"lease": "3s", "wait": "30s", "answer_within": "60s", "timeout": "4s", "timeout_hard": "60s", "late": "5s",
		"rate": "1000000/m", "repeat": "1000000/5m", "after_conflict": "hold",
	}
}

// config is a deed.yaml.
type config map[string]any

// fixtureConfig is a gateway in front of one server: a command or a URL.
func fixtureConfig(ledger string, upstream map[string]any) config {
	return config{
		"ledger":    "sqlite:" + ledger,
		"upstreams": map[string]any{upstreamName: upstream},
		"defaults":  waits(),
	}
}

func (c config) write(path string) error {
	text, err := yaml.Marshal(map[string]any(c))
	if err != nil {
		return fmt.Errorf("write gateway configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write gateway configuration: %w", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write gateway configuration: %w", err)
	}
	return nil
}

func readConfig(path string) (config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read gateway configuration: %w", err)
	}
	var c config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read gateway configuration %s: %w", path, err)
	}
	return c, nil
}

// upstream returns the entry of one upstream.
func (c config) upstream(name string) (map[string]any, error) {
	all, _ := c["upstreams"].(map[string]any)
	entry, ok := all[name].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the configuration has no upstream %q: nothing was started; write --tool as upstream/name", name)
	}
	return entry, nil
}
