// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/faultkit"
)

const webhookSecret = "whsec-0123456789-of-the-provider"

// confirm sends a provider's message to the gateway, signed with the secret
// where there is one, and returns the status.
func (g *gateway) confirm(name, secret, message string) int {
	g.Helper()
	req, err := http.NewRequestWithContext(g.Context(), http.MethodPost, "http://"+g.Address+"/confirmations/"+name, strings.NewReader(message))
	g.must(err)
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(message))
		req.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	g.must(err)
	g.must(res.Body.Close())
	return res.StatusCode
}

func TestAConfirmationCommitsWhatItsProviderSigned(t *testing.T) {
	t.Parallel()
	provider := newAPI(t)
	g := newGateway(t, faultkit.HTTP, "shop", map[string]any{
		"connectors": map[string]any{"shop": map[string]any{"http": map[string]any{
			"base_url": provider.URL, "allow_private": true,
			"tools": map[string]any{"make": map[string]any{"method": "POST", "path": "/made", "body": "json", "marker": map[string]any{"into": "/mark"}, "receipt": map[string]any{"id": "/id", "require": true}}},
		}}},
		"tools": map[string]any{"shop/make": map[string]any{"effect": "non_idempotent", "marker": map[string]any{"into": "/mark"}}},
		"confirmations": map[string]any{"shop": map[string]any{
			"secret": "${WEBHOOK_SECRET}", "header": "X-Signature", "prefix": "sha256=", "marker": "/data/mark", "id": "/data/id", "when": "message.type == 'made'",
		}},
	})
	g.Env = []string{"WEBHOOK_SECRET=" + webhookSecret}
	g.start()
	provider.lose(true)
	const key = "make:order-1042:first"
	arguments := map[string]any{"title": "A thing"}
	if lost := g.call("make", key, arguments); lost.Status != "uncertain" {
		t.Fatalf("the lost call: %s", lost)
	}
	provider.lose(false)
	var sent struct{ Mark string }
	g.must(json.Unmarshal([]byte(provider.bodies[0]), &sent))
	made := func(kind, mark string) string {
		return fmt.Sprintf(`{"type":%q,"data":{"mark":%q,"id":"thing_1"}}`, kind, mark)
	}
	for _, c := range []struct {
		name, to, secret, message string
		status                    int
		then                      deed.Status
	}{
		{"unsigned", "shop", "", made("made", sent.Mark), 401, deed.StatusUncertain},
		{"signed by somebody else", "shop", "another-secret", made("made", sent.Mark), 401, deed.StatusUncertain},
		{"to a name that is not configured", "other", webhookSecret, made("made", sent.Mark), 404, deed.StatusUncertain},
		{"about an unknown operation", "shop", webhookSecret, made("made", strings.Repeat("A", 26)), 404, deed.StatusUncertain},
		{"that is no JSON", "shop", webhookSecret, `{"type":`, 400, deed.StatusUncertain},
		{"that proves nothing", "shop", webhookSecret, made("queued", sent.Mark), 204, deed.StatusUncertain},
		{"signed", "shop", webhookSecret, made("made", sent.Mark), 204, deed.StatusCommitted},
		{"signed, twice", "shop", webhookSecret, made("made", sent.Mark), 204, deed.StatusCommitted},
	} {
		status := g.confirm(c.to, c.secret, c.message)
		if op := g.operations()[key]; status != c.status || op.Status != c.then {
			t.Errorf("a message %s: %d, and the operation is %s; want %d and %s", c.name, status, op.Status, c.status, c.then)
		}
	}
	if op := g.operations()[key]; op.by() != deed.ByWebhook || op.Receipt == nil || op.Receipt.RemoteID != "thing_1" {
		t.Errorf("the receipt is %+v", op.Receipt)
	}
	if again := g.call("make", key, arguments); again.Decision != "replay" || provider.made() != 1 {
		t.Errorf("the repetition: %s, with %d effects", again, provider.made())
	}
}
