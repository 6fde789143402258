// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of RFC 1035 section 2.3.4, in characters of the text form.
const (
	maxLabel = 63
	maxHost  = 253
)

// normaliseEmail writes the domain of an address in lower case and as A-labels.
// The local part stays as it is: it may be case-sensitive (RFC 5321 section
// 2.4). Display names and lists are not addresses.
func normaliseEmail(text string) (string, string) {
	at := strings.LastIndexByte(text, '@')
	if at < 1 || !isLocalPart(text[:at]) {
		return "", "the value is not one e-mail address: write it like name@example.com, without a display name"
	}
	domain, problem := normaliseHost(text[at+1:], false)
	if problem != "" {
		return "", problem
	}
	return text[:at+1] + domain, ""
}

// isLocalPart accepts a quoted string, or text without the characters that RFC
// 5322 reserves outside quotes.
func isLocalPart(local string) bool {
	if len(local) >= 3 && local[0] == '"' && local[len(local)-1] == '"' {
		inside := strings.ReplaceAll(strings.ReplaceAll(local[1:len(local)-1], `\\`, ""), `\"`, "")
		return !strings.ContainsAny(inside, "\"\r\n")
	}
	return !strings.ContainsFunc(local, func(r rune) bool {
		return r <= ' ' || r == 0x7F || strings.ContainsRune(`()<>[]:;@\,"`, r)
	})
}

// normaliseHost writes a host name in lower case with A-labels (RFC 5890), or an
// address in brackets in the form of RFC 5952. rooted allows a final dot.
//
// Full IDNA mapping needs Unicode tables beyond the standard library. Where
// such a mapping could matter, as for combining marks and full-width letters,
// the host is refused rather than guessed; an A-label is always accepted.
func normaliseHost(host string, rooted bool) (string, string) {
	const problem = "the host is not a domain name: write it like example.com"
	if strings.HasPrefix(host, "[") {
		return normaliseLiteral(host)
	}
	labels := strings.Split(host, ".")
	total := 0
	for i, label := range labels {
		if label == "" && rooted && i == len(labels)-1 && i > 0 {
			continue
		}
		ascii, ok := asciiLabel(label)
		if !ok {
			return "", problem + ", or an international name in lower case or as xn-- labels"
		}
		if len(ascii) == 0 || len(ascii) > maxLabel {
			return "", problem
		}
		labels[i] = ascii
		total += len(ascii) + 1
	}
	if total > maxHost+1 {
		return "", problem
	}
	return strings.Join(labels, "."), ""
}

func normaliseLiteral(host string) (string, string) {
	const problem = "the address in brackets is not valid: write it like [2001:db8::1]"
	inside, closed := strings.CutSuffix(host[1:], "]")
	prefix := ""
	if len(inside) > 5 && strings.EqualFold(inside[:5], "IPv6:") { // RFC 5321 section 4.1.3
		prefix, inside = "IPv6:", inside[5:]
	}
	address, err := netip.ParseAddr(inside)
	if !closed || err != nil || address.Zone() != "" {
		return "", problem
	}
	return "[" + prefix + address.String() + "]", ""
}

// asciiLabel refuses long labels before encoding them: punycode costs the
// square of the length.
func asciiLabel(label string) (string, bool) {
	if utf8.RuneCountInString(label) > maxLabel {
		return "", false
	}
	runes := make([]rune, 0, len(label))
	ascii := true
	for _, r := range label {
		r = lowerRune(r)
		if r >= utf8.RuneSelf {
			ascii = false
			if !isHostRune(r) {
				return "", false
			}
		} else if r != '-' && r != '_' && !isDigit(byte(r)) && (r < 'a' || r > 'z') {
			return "", false
		}
		runes = append(runes, r)
	}
	if ascii {
		return string(runes), true
	}
	if strings.HasPrefix(string(runes), "xn--") {
		return "", false
	}
	return "xn--" + punycode(runes), true
}

// isHostRune accepts characters that IDNA mapping and NFC leave alone in the
// scripts of common domain names.
func isHostRune(r rune) bool {
	switch {
	case unicode.Is(unicode.Lu, r), unicode.Is(unicode.Lt, r):
		return false
	case 0x0300 <= r && r <= 0x036F: // combining marks: not in NFC
		return false
	case 0x1100 <= r && r <= 0x11FF: // conjoining jamo: not in NFC
		return false
	case 0xF900 <= r && r <= 0xFAFF, 0xFB00 <= r && r <= 0xFEFF, 0xFF00 <= r && r <= 0xFFEF: // compatibility forms
		return false
	}
	return unicode.In(r, unicode.Ll, unicode.Lo, unicode.Lm, unicode.Mn, unicode.Mc, unicode.Nd)
}

// punycode encodes a label as in RFC 3492 section 6.3.
func punycode(label []rune) string {
	const (
		base, tMin, tMax = 36, 1, 26
		skew, damp       = 38, 700
		initialBias      = 72
		initialN         = 0x80
	)
	out := make([]byte, 0, len(label)*2)
	for _, r := range label {
		if r < initialN {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	handled := basic
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(initialN), 0, initialBias
	for handled < len(label) {
		next := rune(unicode.MaxRune)
		for _, r := range label {
			if r >= n {
				next = min(next, r)
			}
		}
		delta += int(next-n) * (handled + 1)
		n = next
		for _, r := range label {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			q := delta
			for k := base; ; k += base {
				t := min(max(k-bias, tMin), tMax)
				if q < t {
					break
				}
				out = append(out, punycodeDigit(t+(q-t)%(base-t)))
				q = (q - t) / (base - t)
			}
			out = append(out, punycodeDigit(q))
			step := delta / 2
			if handled == basic {
				step = delta / damp
			}
			step += step / (handled + 1)
			k := 0
			for ; step > (base-tMin)*tMax/2; k += base {
				step /= base - tMin
			}
			bias = k + (base-tMin+1)*step/(step+skew)
			delta = 0
			handled++
		}
		delta++
		n++
	}
	return string(out)
}

func punycodeDigit(d int) byte {
	if d < 26 {
		return byte('a' + d)
	}
	return byte('0' + d - 26)
}
