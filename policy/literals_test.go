// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed/policy"
)

func TestASecretThatIsWrittenOutIsFoundWhereItStands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deed.yaml")
	if err := os.WriteFile(file, []byte(`
upstreams:
  crm:
    command: [crm-server, --api-key=abc, --token, abc, --token-file, secret.txt, "--key=${CRM_TOKEN}", --verbose]
    env: {CRM_TOKEN: abc, MAX_TOKENS: 9, TOKEN_FILE: secret.txt, LEVEL: debug, DB_PASSWORD: "${CRM_TOKEN}", PUBLIC_KEY: abc, EMPTY_TOKEN: ""}
  desk:
    url: https://desk.example/mcp
    headers: {Authorization: Bearer abc, X-Tenant: acme, X-Api-Key: "${CRM_TOKEN}"}
http:
  9-shop: {url: "https://shop.example", headers: {x-api-key: abc}}
connectors:
  support:
    mail:
      account: agent@example.org
      smtp: {host: mail.example.org, username: agent, password: abc}
      imap: {host: mail.example.org, username: agent, password: "${CRM_TOKEN}"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := policy.Load(file, func(string) string { return "set" })
	if err != nil {
		t.Fatal(err)
	}
	want := []policy.WrittenOut{
		{Path: "upstreams.crm.env.CRM_TOKEN", Instead: "${CRM_TOKEN}"},
		{Path: "upstreams.crm.command (--api-key)", Instead: "${CRM_KEY}"},
		{Path: "upstreams.crm.command (--token)", Instead: "${CRM_TOKEN}"},
		{Path: "upstreams.desk.headers.Authorization", Instead: "Bearer ${DESK_TOKEN}"},
		{Path: "http.9-shop.headers.X-Api-Key", Instead: "${_9_SHOP_TOKEN}"},
		{Path: "connectors.support.smtp.password", Instead: "${SUPPORT_PASSWORD}"},
	}
	if diff := cmp.Diff(want, config.WrittenOut()); diff != "" {
		t.Error(diff)
	}
}
