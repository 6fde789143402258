// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"strings"
	"testing"

	"github.com/deed-run/deed/internal/canon"
)

const refused = "refused"

func normalised(t *testing.T, value string, normalisers ...string) string {
	t.Helper()
	p := compile(t, canon.Rules{Normalize: map[string][]string{"/v": normalisers}})
	got, _, err := p.Pick([]byte(`{"v":`+value+`}`), "/v")
	if err != nil {
		return refused
	}
	return string(got)
}

func TestNormalisers(t *testing.T) {
	cases := []struct{ normaliser, in, want string }{
		{"decimal", `"10.50"`, `10.5`},
		{"decimal", `10.50`, `10.5`},
		{"decimal", `"-0.0"`, `0`},
		{"decimal", `"1E3"`, `1000`},
		{"decimal", `"123456789012345678901234567890"`, `1.2345678901234567890123456789e+29`},
		{"decimal", `null`, `null`},
		{"decimal", `"+1"`, refused},
		{"decimal", `" 1"`, refused},
		{"decimal", `"01"`, refused},
		{"decimal", `".5"`, refused},
		{"decimal", `"1e999"`, refused},
		{"decimal", `[1]`, refused},

		{"lower", `"ÉCLAIR Straße"`, `"éclair straße"`},
		{"lower", `"\u0130\u212a\u212b"`, "\"\u0130\u212a\u212b\""},
		{"lower", `{}`, refused},
		{"upper", `"usd é"`, `"USD É"`},
		{"upper", `"\u0131\u017f\u03c2\u00b5"`, "\"\u0131\u017f\u03c2\u00b5\""},
		{"trim", `"\u00a0\t a b \n"`, `"a b"`},
		{"collapse_space", `" a \t\n b"`, `" a b"`},
		{"newlines", `"a\r\nb\rc\n"`, `"a\nb\nc\n"`},
		{"nfc", `"e\u0301 \ufb01"`, "\"\u00e9 \ufb01\""},

		{"uuid", `"8E03978E-40D5-43E8-BC93-6894A57F9324"`, `"8e03978e-40d5-43e8-bc93-6894a57f9324"`},
		{"uuid", `"URN:UUID:8e03978e-40d5-43e8-bc93-6894a57f9324"`, `"8e03978e-40d5-43e8-bc93-6894a57f9324"`},
		{"uuid", `"{8e03978e-40d5-43e8-bc93-6894a57f9324}"`, `"8e03978e-40d5-43e8-bc93-6894a57f9324"`},
		{"uuid", `"8e03978e40d543e8bc936894a57f9324"`, `"8e03978e-40d5-43e8-bc93-6894a57f9324"`},
		{"uuid", `"8e03978e-40d5-43e8-bc93-6894a57f932"`, refused},
		{"uuid", `"8e03978e040d5-43e8-bc93-6894a57f9324"`, refused},
		{"uuid", `"8e03978e-40d5-43e8-bc93-6894a57f932g"`, refused},

		{"digest", `"hello"`, `"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"`},
		{"digest", `"sha256:2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824"`, `"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"`},
		{"digest", `"sha256:xy"`, `"sha256:45162ade2fb9b244bab12b5839c87f7d144105cc2f5fbf0e3447dc9593a7f06b"`},
		{"digest", `7`, refused},

		{"instant", `"2026-05-01T12:00:00+02:00"`, `"2026-05-01T10:00:00Z"`},
		{"instant", `"2026-05-01t12:00:00.1200z"`, `"2026-05-01T12:00:00.12Z"`},
		{"instant", `"2026-05-01T12:00:00.000-00:00"`, `"2026-05-01T12:00:00Z"`},
		{"instant", `"2026-05-01T12:00:00.12345678901234567890Z"`, `"2026-05-01T12:00:00.1234567890123456789Z"`},
		{"instant", `"2026-01-01T00:30:00+01:00"`, `"2025-12-31T23:30:00Z"`},
		{"instant", `"2026-02-29T00:00:00Z"`, refused},
		{"instant", `"2026-05-01T23:59:60Z"`, refused},
		{"instant", `"2026-05-01 10:00:00Z"`, refused},
		{"instant", `"2026-05-01T10:00:00.Z"`, refused},
		{"instant", `"2026-05-01T10:00:00+0200"`, refused},
		{"instant", `"2026-05-01T10:00:00+24:00"`, refused},
		{"instant", `"9999-12-31T23:59:59-01:00"`, refused},
		{"instant", `"2026-05-01"`, refused},
		{"instant", `"2026/05-01T10:00:00Z"`, refused},
		{"instant", `"2o26-05-01T10:00:00Z"`, refused},
		{"instant", `"2026-05-01T10:00:00"`, refused},
		{"instant", `1777629600`, refused},
	}
	for _, c := range cases {
		if got := normalised(t, c.in, c.normaliser); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.normaliser, c.in, got, c.want)
		}
	}
}

func TestNormaliserEmailDomain(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"the domain is lowered", `Bob@Example.COM`, `Bob@example.com`},
		{"an A-label is lowered", `a@XN--BCHER-KVA.example`, `a@xn--bcher-kva.example`},
		{"a U-label becomes an A-label", `a@BÜCHER.example`, `a@xn--bcher-kva.example`},
		{"a label without ASCII", `a@例え.jp`, `a@xn--r8jz45g.jp`},
		{"a longer label (RFC 3492 section 7.1 B, C)", `a@他们为什么不说中文.cn`, `a@xn--ihqwcrb4cv8a8dqg056pqjye.cn`},
		{"a mixed label (RFC 3492 section 7.1 K)", `a@tạisaohọkhôngthểchỉnóitiếngviệt.vn`, `a@xn--tisaohkhngthchnitingvit-kjcr8268qyxafd2f1b9g.vn`},
		{"a quoted local part", `\"a @ b\"@x.io`, `\"a @ b\"@x.io`},
		{"an address literal", `a@[IPv6:2001:DB8::0:1]`, `a@[IPv6:2001:db8::1]`},
		{"an IPv4 literal", `a@[192.0.2.1]`, `a@[192.0.2.1]`},
		{"no domain", `bob`, refused},
		{"an empty local part", `@x.io`, refused},
		{"a display name", `Bob <bob@x.io>`, refused},
		{"two addresses", `a@x.io, b@x.io`, refused},
		{"a space", ` a@x.io`, refused},
		{"a zero-width space in the domain", `a@x\u200b.io`, refused},
		{"an empty label", `a@x..io`, refused},
		{"a final dot", `a@x.io.`, refused},
		{"a combining mark that NFC may compose", `a@bu\u0308cher.example`, refused},
		{"a full-width letter", `a@\uff45xample.com`, refused},
		{"a conjoining jamo that NFC may compose", `a@\u1100\u1161.example`, refused},
		{"a title case letter", `a@\u01c5.example`, refused},
		{"the Kelvin sign", `a@\u212a.example`, refused},
		{"an A-label with a letter outside ASCII", `a@xn--bücher.example`, refused},
		{"a label too long to encode", `a@` + strings.Repeat("ü", 300_000) + `.example`, refused},
		{"a label of 64 characters", `a@` + strings.Repeat("x", 64) + `.example`, refused},
		{"a host of 254 characters", `a@` + strings.Repeat(strings.Repeat("x", 49)+".", 5) + "abcd", refused},
		{"an unclosed literal", `a@[192.0.2.1`, refused},
	}
	for _, c := range cases {
		want := c.want
		if want != refused {
			want = `"` + want + `"`
		}
		if got := normalised(t, `"`+c.in+`"`, "email_domain"); got != want {
			t.Errorf("%s: got %s, want %s", c.name, got, want)
		}
	}
}

func TestNormaliserURL(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"scheme, host and default port", `HTTPS://Example.com:443`, `https://example.com/`},
		{"the default port of http", `http://x.io:080/a`, `http://x.io/a`},
		{"the default port of wss", `wss://x.io:443/`, `wss://x.io/`},
		{"the default port of ftp", `ftp://x.io:21/`, `ftp://x.io/`},
		{"a scheme without a known port", `redis://x.io:80/`, `redis://x.io:80/`},
		{"an empty port", `http://x.io:/`, `http://x.io/`},
		{"another port", `http://x.io:8080`, `http://x.io:8080/`},
		{"dot segments", `http://x.io/a/./b/../c/..`, `http://x.io/a/`},
		{"dot segments above the root", `http://x.io/../../a`, `http://x.io/a`},
		{"encoded dot segments", `http://x.io/a/%2e%2E/b`, `http://x.io/b`},
		{"empty segments stay", `http://x.io/a//b`, `http://x.io/a//b`},
		{"case of percent-encodings", `http://x.io/%2f%c3%a9`, `http://x.io/%2F%C3%A9`},
		{"needless percent-encodings", `http://x.io/%7Eann%41?%2D`, `http://x.io/~annA?-`},
		{"characters outside ASCII", `http://x.io/é`, `http://x.io/%C3%A9`},
		{"an international host", `http://Bücher.example/`, `http://xn--bcher-kva.example/`},
		{"a rooted host", `http://x.io./`, `http://x.io./`},
		{"an IPv6 host", `http://[2001:DB8::0:1]:80/`, `http://[2001:db8::1]/`},
		{"a user part", `http://Ann:%70w@X.io/`, `http://Ann:pw@x.io/`},
		{"query order and empty query", `http://x.io/?b=2&a=1`, `http://x.io/?b=2&a=1`},
		{"an empty query stays", `http://x.io/?`, `http://x.io/?`},
		{"a fragment stays", `http://x.io/#A?b`, `http://x.io/#A?b`},
		{"a file", `file:///a/../b`, `file:///b`},
		{"no scheme", `//x.io/`, refused},
		{"no host", `http:///a`, refused},
		{"no authority", `mailto:a@x.io`, refused},
		{"a scheme that begins with a digit", `1http://x.io/`, refused},
		{"a space", `http://x.io/a b`, refused},
		{"a backslash", `http://x.io\\\\@evil.io/`, refused},
		{"a broken percent-encoding", `http://x.io/%4`, refused},
		{"a percent-encoding without digits", `http://x.io/%zz`, refused},
		{"a port out of range", `http://x.io:65536/`, refused},
		{"a percent-encoded host", `http://x%2eio/`, refused},
		{"two user parts", `http://a@b@x.io/`, refused},
	}
	for _, c := range cases {
		want := c.want
		if want != refused {
			want = `"` + want + `"`
		}
		if got := normalised(t, `"`+c.in+`"`, "url"); got != want {
			t.Errorf("%s: got %s, want %s", c.name, got, want)
		}
	}
}

func TestNormalisersRunInTheListedOrder(t *testing.T) {
	if got := normalised(t, `"  B  c "`, "trim", "collapse_space", "lower", "digest"); got != normalised(t, `"b c"`, "digest") {
		t.Error(got)
	}
}
