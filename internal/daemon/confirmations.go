// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/http"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/reconcile"
)

// confirmations takes the messages of providers that tell by themselves what
// they did, by name.
func confirmations(c *Core) map[string]http.Handler {
	inboxes := map[string]http.Handler{}
	for name, from := range c.Config.Confirmations {
		signature := reconcile.Signature{
			Header: from.Header, Prefix: from.Prefix, TimestampHeader: from.TimestampHeader, Tolerance: from.Tolerance, Now: c.Clock.Now,
		}
		for _, secret := range from.Secrets {
			signature.Secrets = append(signature.Secrets, []byte(secret.Text))
		}
		inboxes[name] = reconcile.Inbox{
			Prover: c.Runtime, Tenant: from.Tenant, Verify: signature.Verify,
			Read: func(_ *http.Request, message []byte) (deed.Proof, error) {
				proof, proves, err := from.Read(message)
				if err == nil && !proves {
					err = reconcile.ErrNoProof
				}
				return proof, err
			},
		}
	}
	return inboxes
}

// named serves the handler that the path's name has.
func named(handlers map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, known := handlers[r.PathValue("name")]
		if !known {
			http.Error(w, "nothing of this name is configured: nothing was done", http.StatusNotFound)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
