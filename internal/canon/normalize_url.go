// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package canon

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// normaliseURL applies the syntax-based and scheme-based normalisation of RFC
// 3986 section 6.2.2 and 6.2.3 to an absolute URL with a host: case of scheme,
// host and percent-encodings, needless percent-encodings, dot segments, default
// port, empty path. Characters outside ASCII are percent-encoded as UTF-8 (RFC
// 3987 section 3.1). Query order, path case and fragments are kept.
func normaliseURL(text string) (string, string) {
	const absolute = "the value is not an absolute URL: write it like https://example.com/path"
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !isScheme(scheme) {
		return "", absolute
	}
	scheme = strings.ToLower(scheme)
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, problem := normaliseAuthority(scheme, rest[:end])
	if problem != "" {
		return "", problem
	}
	rest, fragment, hasFragment := strings.Cut(rest[end:], "#")
	path, query, hasQuery := strings.Cut(rest, "?")
	out := scheme + "://" + authority
	for _, part := range []struct {
		text, before string
		present      bool
	}{{path, "", true}, {query, "?", hasQuery}, {fragment, "#", hasFragment}} {
		encoded, ok := normaliseEncoding(part.text)
		if !ok {
			return "", "the URL has a character that must be percent-encoded, or a broken percent-encoding: encode it as %XX"
		}
		if part.before == "" {
			encoded = removeDotSegments(encoded)
			if encoded == "" {
				encoded = "/"
			}
		}
		if part.present {
			out += part.before + encoded
		}
	}
	return out, ""
}

func isScheme(scheme string) bool {
	for i := range len(scheme) {
		c := scheme[i] | 0x20
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !isDigit(scheme[i]) && !strings.ContainsRune("+-.", rune(scheme[i]))) {
			return false
		}
	}
	return scheme != ""
}

func normaliseAuthority(scheme, authority string) (string, string) {
	out := ""
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, ok := normaliseEncoding(authority[:at])
		if !ok || strings.Contains(user, "@") {
			return "", "the user part of the URL has a character that must be percent-encoded: encode it as %XX"
		}
		out, authority = user+"@", authority[at+1:]
	}
	host, port := authority, ""
	if colon := strings.LastIndexByte(authority, ':'); colon > strings.LastIndexByte(authority, ']') {
		host, port = authority[:colon], authority[colon+1:]
	}
	if host == "" && scheme == "file" && port == "" && out == "" {
		return "", ""
	}
	host, problem := normaliseHost(host, true)
	if problem != "" {
		return "", problem
	}
	if port == "" {
		return out + host, ""
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", "the port of the URL is not a number up to 65535: write a valid port, or none"
	}
	port = strconv.FormatUint(number, 10)
	if port == defaultPort(scheme) {
		return out + host, ""
	}
	return out + host + ":" + port, ""
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	}
	return ""
}

// normaliseEncoding decodes percent-encoded unreserved characters, writes the
// others with capital digits and encodes what is outside ASCII. It refuses
// characters that no part of a URL may contain.
func normaliseEncoding(text string) (string, bool) {
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '%':
			if i+2 >= len(text) {
				return "", false
			}
			value, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			i += 2
			if decoded := byte(value); isUnreserved(decoded) {
				out = append(out, decoded)
			} else {
				out = append(out, '%', hex[decoded>>4], hex[decoded&15])
			}
		case c >= utf8.RuneSelf:
			out = append(out, '%', hex[c>>4], hex[c&15])
		case c <= ' ' || c == 0x7F || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return "", false
		default:
			out = append(out, c)
		}
	}
	return string(out), true
}

func isUnreserved(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '.' || c == '_' || c == '~'
}

// removeDotSegments implements RFC 3986 section 5.2.4 for an absolute path.
func removeDotSegments(path string) string {
	if path == "" {
		return ""
	}
	var out []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch segment {
		case ".":
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, segment)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}
