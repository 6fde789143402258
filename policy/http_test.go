// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/policy"
)

const httpFile = `
upstreams: {pay: {command: [x], account: live}}
http:
  pay: {url: "https://api.example/base/", headers: {Authorization: "Bearer ${CRM_TOKEN}"}, account: live, timeout: 2m}
  open: {url: "https://open.example/"}
tools:
  pay/refund: {matter: [/charge]}
routes:
  "POST pay/v1/refunds": {profile: stripe, key: required, as: pay/refund, query: [dry]}
  "POST pay/v1/customers/{id}/notes":
    {key: {from: [tenant, /path/id, /body/n]}, matter: [/path/id], headers: [X-Account], twins: {within: 10s, executing: allow},
     refused: [409, 404], busy: [503], max_body: 1000, mode: observe, timeout: 30s, fingerprint: {exclude: [/body/trace]}, deny: {when: "args.body.n == 0"}}
  "GET pay/v1/customers/*": {}
`

func TestRoutesAreReadInTheirOrder(t *testing.T) {
	config := parse(t, httpFile)
	want := []policy.Route{
		{Upstream: "pay", Method: "POST", Pattern: "/v1/refunds", As: "pay/refund", Profile: "stripe", Key: deed.KeyRule{Need: deed.NeedRequired}, Query: []string{"dry"}},
		{
			Upstream: "pay", Method: "POST", Pattern: "/v1/customers/{id}/notes", Profile: "ietf",
			Key:     deed.KeyRule{Need: deed.NeedRequired, From: []string{"tenant", "/path/id", "/body/n"}},
			Headers: []string{"X-Account"}, Twins: 10 * time.Second, Refused: []int{409, 404}, Busy: []int{503}, MaxBody: 1000,
		},
		{Upstream: "pay", Method: "GET", Pattern: "/v1/customers/*", Profile: "ietf"},
	}
	if diff := cmp.Diff(want, config.Routes, cmpopts.IgnoreFields(policy.Route{}, "Entry")); diff != "" {
		t.Errorf("routes differ (-want +got):\n%s", diff)
	}
	for i, name := range []deed.Tool{"pay/refund", "pay/POST /v1/customers/{id}/notes", "pay/GET /v1/customers/*"} {
		if got := config.Routes[i].Name(); got != name {
			t.Errorf("route %d is %s, not %s", i, got, name)
		}
	}
}

func TestThePolicyKnowsRoutesAsTools(t *testing.T) {
	config := parse(t, httpFile)
	rule := config.Policy().Rule("pay/POST /v1/customers/{id}/notes", deed.ToolFacts{})
	want := deed.DefaultRule("pay/POST /v1/customers/{id}/notes")
	want.Key = deed.KeyRule{Need: deed.NeedRequired, From: []string{"tenant", "/path/id", "/body/n"}}
	want.Matter, want.Account, want.Mode = []string{"/path/id"}, "live", deed.ModeObserve
	want.Timeout, want.TwinsExecuting, want.TwinsWithin = 30*time.Second, true, 10*time.Second
	want.Fingerprint.Exclude, want.Conditions = []string{"/body/trace"}, []string{"deny: args.body.n == 0"}
	if diff := cmp.Diff(want, rule, cmpopts.IgnoreFields(deed.Rule{}, "Why", "Revision", "Deny")); diff != "" {
		t.Errorf("rule differs (-want +got):\n%s", diff)
	}
	for tool, effect := range map[deed.Tool]deed.EffectClass{
		"pay/GET /v1/customers/*": deed.EffectReadOnly, "pay/POST": deed.EffectNonIdempotent, "pay/refund": deed.EffectNonIdempotent,
	} {
		if rule := config.Policy().Rule(tool, deed.ToolFacts{}); rule.Effect != effect || rule.Timeout != 2*time.Minute {
			t.Errorf("%s is %s (%s) with timeout %s", tool, rule.Effect, rule.Why, rule.Timeout)
		}
	}
}

func TestTheIdentityOfAnAPI(t *testing.T) {
	config := parse(t, httpFile)
	if got := config.UpstreamIdentity("pay"); got != "live" {
		t.Errorf("pay is %q", got)
	}
	if got := config.UpstreamIdentity("open"); got != "https://open.example" {
		t.Errorf("open is %q", got)
	}
	if text := fmt.Sprintf("%+v %#v", config, config.HTTP); strings.Contains(text, "t0p-secret") {
		t.Errorf("printing shows a secret: %s", text)
	}
	if diff := cmp.Diff([]string{"Bearer t0p-secret"}, config.Secrets()); diff != "" {
		t.Errorf("secrets differ (-want +got):\n%s", diff)
	}
}

func TestTokensOfAnIssuer(t *testing.T) {
	config := parse(t, "listen: 0.0.0.0:1\nauth: {jwt: {jwks: \"https://id.example/keys\", issuer: \"https://id.example\", audience: deed, tenant: acme, rights: [call, read], algorithms: [ES256]}}")
	want := &policy.JWT{
		JWKS: policy.Literal("https://id.example/keys"), Issuer: "https://id.example", Audience: "deed", TenantClaim: "tenant", ActorClaim: "sub",
		Tenant: "acme", RightsClaim: "scope", Rights: []deed.Right{deed.RightCall, deed.RightRead}, Algorithms: []string{"ES256"},
	}
	if diff := cmp.Diff(want, config.Auth.JWT); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	config = parse(t, "auth: {jwt: {jwks: keys/jwks.json, issuer: i, audience: a, tenant_claim: org, actor_claim: email, rights_claim: scp}}")
	jwt := config.Auth.JWT
	if jwt.JWKSFile != filepath.Join(config.Folder, "keys/jwks.json") || jwt.TenantClaim != "org" || jwt.ActorClaim != "email" || jwt.RightsClaim != "scp" || jwt.Rights != nil {
		t.Errorf("read as %+v", jwt)
	}
}

func TestSigningInToTheConsole(t *testing.T) {
	config := parse(t, `
tenant: acme
auth:
  oidc:
    issuer: https://id.example
    client_id: console
    client_secret: ${CRM_TOKEN}
    redirect_url: http://127.0.0.1:7391/login/callback
    roles: {viewer: [staff], operator: [ops, sre]}
`)
	oidc := config.Auth.OIDC
	if oidc.ClientSecret.Text != "t0p-secret" || oidc.Tenant != "acme" || oidc.ActorClaim != "sub" {
		t.Errorf("read as %+v", oidc)
	}
	for role, values := range map[policy.Role][]string{"": {"guests"}, policy.RoleViewer: {"x", "staff"}, policy.RoleOperator: {"staff", "sre"}} {
		if got := oidc.RoleOf(values); got != role {
			t.Errorf("%v give the role %q, not %q", values, got, role)
		}
	}
	if text := fmt.Sprintf("%+v", *oidc); strings.Contains(text, "t0p-secret") {
		t.Errorf("printing shows the secret: %s", text)
	}
}

func TestAFailedRuleIsReadForEachOfItsStatuses(t *testing.T) {
	config := parse(t, `
upstreams: {a: {url: "https://a.example/mcp"}}
tools: {a/make: {failed: [{status: [409, 423], final: true}, {status: 503, retry_after_required: true}, {code: -32000}]}}
`)
	code := -32000
	want := []policy.FailedRule{{Status: 409, Final: true}, {Status: 423, Final: true}, {Status: 503, RetryAfterRequired: true}, {Code: &code}}
	if diff := cmp.Diff(want, config.ToolSettings("a/make").Failed); diff != "" {
		t.Errorf("rules differ (-want +got):\n%s", diff)
	}
}

func TestAnAPIHasOneHeaderForKeys(t *testing.T) {
	config := parse(t, `
http: {pay: {url: "https://api.example"}, other: {url: "https://other.example"}}
tools: {pay/refund: {provider_key: {header: X-Key, retention: 24h}}}
routes: {"POST pay/a": {as: pay/refund}, "POST pay/b": {provider_key: {header: x-key, retention: 24h}}, "POST other/b": {}}
`)
	if config.HTTP["pay"].KeyHeader != "x-key" || config.HTTP["other"].KeyHeader != "" {
		t.Errorf("headers %q and %q", config.HTTP["pay"].KeyHeader, config.HTTP["other"].KeyHeader)
	}
}
