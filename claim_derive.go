// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deed-run/deed/internal/canon"
)

// secretBox keeps the ledger's secrets in memory once they have been read.
type secretBox struct {
	mu    sync.Mutex
	known map[string][]byte
}

// secret returns the named secret of the ledger, making it on first use.
func (rt *Runtime) secret(ctx context.Context, name string) ([]byte, error) {
	rt.secrets.mu.Lock()
	defer rt.secrets.mu.Unlock()
	if value := rt.secrets.known[name]; value != nil {
		return value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	fresh := make([]byte, 32)
	mustRead(rt.random, fresh)
	value, err := rt.store.Setting(ctx, "secret/"+name, func(old []byte) []byte {
		if old != nil {
			return nil
		}
		return fresh
	})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger's secret: %w", err)
	}
	if rt.secrets.known == nil {
		rt.secrets.known = map[string][]byte{}
	}
	rt.secrets.known[name] = value
	return value, nil
}

// derivedKeyLength is the number of base32 characters after "k1_": 130 bits
// of the HMAC.
const derivedKeyLength = 26

// picker reads a fact about the effect by pointer.
type picker func(arguments []byte, pointer string) (canonical []byte, found bool, err error)

// deriveKey names an operation after declared facts: an HMAC over the
// canonical list of named parts, so that keys cannot be guessed from the
// facts without the tenant's secret. The second value names a missing part.
func deriveKey(secret []byte, parts []string, call Call, pick picker) (key, missing string, err error) {
	list := make([][2]any, 0, len(parts))
	for _, part := range parts {
		value, found, err := partOf(part, call, pick)
		if err != nil {
			return "", "", err
		}
		if !found {
			return "", part, nil
		}
		list = append(list, [2]any{part, value})
	}
	doc, err := json.Marshal(list)
	if err != nil {
		return "", "", err
	}
	doc, err = canon.CanonicalJSON(doc)
	if err != nil {
		return "", "", err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(doc)
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil))
	return "k1_" + text[:derivedKeyLength], "", nil
}

func partOf(part string, call Call, pick picker) (json.RawMessage, bool, error) {
	var text string
	switch {
	case part == "tenant":
		text = string(call.Principal.Tenant)
	case part == "actor":
		text = string(call.Principal.Actor)
	case part == "tool":
		text = string(call.Tool)
	case strings.HasPrefix(part, "meta."):
		text = call.Meta[strings.TrimPrefix(part, "meta.")]
		if text == "" {
			return nil, false, nil
		}
	default:
		return pick(call.Arguments, part)
	}
	if !utf8.ValidString(text) {
		// JSON would make one letter of all that it cannot hold, and two facts one.
		return nil, false, fmt.Errorf("the key is derived from %s, which is not UTF-8: nothing was sent; send it in UTF-8", part)
	}
	value, err := json.Marshal(text)
	return value, true, err
}

// pepper hides a registration key: the ledger keeps only this.
func pepper(secret []byte, key string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(key))
	return hex.EncodeToString(mac.Sum(nil))
}

// matterOf returns the canonical list of the values that name the subject of
// an effect; a missing pointer means that there is none.
func matterOf(pointers []string, arguments []byte, pick picker) Matter {
	if len(pointers) == 0 {
		return ""
	}
	var list []byte
	for i, pointer := range pointers {
		value, found, err := pick(arguments, pointer)
		if err != nil || !found {
			return ""
		}
		list = append(list, "[,"[min(i, 1)])
		list = append(list, value...)
	}
	return Matter(append(list, ']'))
}
