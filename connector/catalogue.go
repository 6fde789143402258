// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed catalogue/*.yaml
var catalogueFiles embed.FS

// Confidence says how something is known of a provider.
type Confidence string

const (
	// Stated: a public source says so.
	Stated Confidence = "stated"
	// Observed: it was seen by running the provider or its own types.
	Observed Confidence = "observed"
	// Unverified: general knowledge; pin it with a test of your own before you rely on it.
	Unverified Confidence = "unverified"
)

// ProviderInfo is what is known of one provider.
type ProviderInfo struct {
	Name, Title string
	BaseURL     string
	Operations  []OperationInfo
	// Source is the catalogue's text. Its tool and lookups blocks are in the grammar of [Load].
	Source []byte
}

// OperationInfo is what is known of one operation of a provider.
type OperationInfo struct {
	// Name is "provider/operation".
	Name, Description string
	// Kind is create, send, transition or converge.
	Kind string
	// Strategies are the ways to find out what became of it, the best first.
	Strategies []string
	// HasKey: the provider honours a key of its own. Retention is for how long, 0 where nobody says.
	HasKey    bool
	Retention time.Duration
	Key       KeyFacts
	// Notes are remarks by subject: "key", "client_id", "marker", "lookup", "duplicate", "ambiguous", "limits", "note".
	Notes     map[string]string
	Webhooks  []string
	Ownership []string
	// Unverified names what of the above is general knowledge only, by subject.
	Unverified map[string]string
	Confidence Confidence
	// VerifiedAt is when it was checked against the live provider, zero for never.
	VerifiedAt time.Time
	Sources    []string
	// MarkerVisibility is hidden, editors or public; empty where no marker is planted. MarkerSurvives: editing leaves it in place.
	MarkerVisibility string
	MarkerSurvives   bool
	// Uniqueness of a client's identity is enforced or best_effort; empty where there is none.
	Uniqueness string
	// Scopes are the rights that its look-up needs.
	Scopes []string
	// Entry is a fragment of a tool entry of deed.yaml.
	Entry []byte
}

// KeyFacts are what is known of a provider's key beside its carrier.
type KeyFacts struct {
	Scope []string
	// Bound says what Retention is: at_least, exactly, or unknown.
	Bound              string
	Mismatch, InFlight KeyAnswer
	ReplayMarker       string
	// Replay is stored, current_state or ignores_body: what a repeat is answered with.
	Replay string
}

// KeyAnswer is how a provider answers a key that it will not take.
type KeyAnswer struct {
	Status int
	Code   string
}

// Providers lists the catalogue by name.
func Providers() []ProviderInfo {
	var list []ProviderInfo
	for _, name := range providerNames() {
		if info, ok := Provider(name); ok {
			list = append(list, info)
		}
	}
	return list
}

func providerNames() []string {
	entries, _ := catalogueFiles.ReadDir("catalogue")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Provider returns one provider of the catalogue, such as "stripe".
func Provider(name string) (ProviderInfo, bool) {
	p, err := shipped(name)
	if err != nil {
		return ProviderInfo{}, false
	}
	return p.info, true
}

// CatalogueEntry returns what the catalogue knows of an operation, such as "stripe/refund", as a fragment of a tool entry of deed.yaml. It is
// the function that a policy's `provider:` asks. Its reconcile names a look-up of a connector that inherits the same operation; beside an MCP
// server an entry writes its own.
func CatalogueEntry(name string) ([]byte, bool) {
	provider, _, _ := strings.Cut(name, "/")
	info, _ := Provider(provider)
	for _, op := range info.Operations {
		if op.Name == name {
			return op.Entry, true
		}
	}
	return nil, false
}

// shipped parses one file of the catalogue. Its files are checked by a test, so that an error means that there is none of that name.
func shipped(name string) (*provider, error) {
	if !slices.Contains(providerNames(), name) {
		return nil, fmt.Errorf("there is no provider %s in the catalogue", name)
	}
	path := "catalogue/" + name + ".yaml"
	source, err := catalogueFiles.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseProvider(source, path)
}
