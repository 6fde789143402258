// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/keyheader"
)

// carriers are the identities that a request brings in its header.
func carriers(keys []string, family deed.Family) []deed.Carrier {
	list := make([]deed.Carrier, 0, len(keys))
	for _, key := range keys {
		list = append(list, deed.Carrier{Provenance: deed.ProvenanceRuntime, Identity: deed.IdentityOf(family, key), Name: "the header " + keyheader.Name})
	}
	return list
}
