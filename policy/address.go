// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/url"
	"strings"
)

const (
	escapeRemedy = "write such signs percent-encoded: p%40ss for p@ss, and so %2F for /, %3A for :, %3F for ?, %23 for #, %26 for &, %25 for %"
	strayRemedy  = "percent-encode the signs of user and password: p%40ss for p@ss, and so %2F for /, %3F for ?, %23 for #"
)

// databaseAddress reads an address of a database. A variable that stands for
// its user, its password or the value of a setting is put in as it is: a sign in
// it that divides addresses would make a host of a part of a secret, which is
// then looked up and printed. Such a variable is refused by its name.
func (d *decoder) databaseAddress(at place) (Value, bool) {
	value, ok := d.expanded(at)
	if !ok {
		return Value{}, false
	}
	before, rest := "", value.Source
	for {
		text, after, found := strings.Cut(rest, "${")
		if !found {
			return value, true
		}
		before += text
		if strings.HasSuffix(text, "$") {
			before, rest = before+"{", after
			continue
		}
		name, tail, _ := strings.Cut(after, "}")
		if !fits(before, tail, d.env(name)) {
			d.refuse(at, "variable "+name+" holds a sign that divides addresses, such as @ / ? # & % or a space, where one user, password or value must stand", escapeRemedy)
			return Value{}, false
		}
		before, rest = before+"x", tail
	}
}

// fits reports whether a replacement stays within the part of the address that
// it stands in: RFC 3986, section 3.2.1 for user and password.
func fits(before, after, replacement string) bool {
	_, before, found := strings.Cut(before, "://")
	if !found {
		return true // the scheme and more comes from the variable
	}
	_, query, inQuery := strings.Cut(before, "?")
	authority := upTo(after, "/?#")
	switch {
	case inQuery:
		parameter := query[strings.LastIndexByte(query, '&')+1:]
		return !strings.Contains(parameter, "=") || encoded(replacement, "-._~!$'()*,;:@/")
	case strings.Contains(before, "/"):
		return true
	case strings.Contains(authority, "@"):
		return encoded(replacement, "-._~!$&'()*+,;=:")
	}
	return !strings.Contains(before, "@") || !strings.Contains(replacement, "@")
}

// writtenUser reports whether an address, as it was written, has a user. What a
// variable in it turns into may hide that.
func writtenUser(source string) bool {
	_, rest, found := strings.Cut(source, "://")
	return found && strings.Contains(upTo(rest, "/?#"), "@")
}

func upTo(text, ends string) string {
	if i := strings.IndexAny(text, ends); i >= 0 {
		return text[:i]
	}
	return text
}

// encoded reports whether a text holds letters, digits, the signs given and
// whole escapes only.
func encoded(text, signs string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(signs, c) >= 0:
		case c == '%' && i+2 < len(text) && hexadecimal(text[i+1]) && hexadecimal(text[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// CheckDatabase says what is wrong with an address of PostgreSQL and what to
// write, or "" twice. It shows no part of the address, which may hold a
// password: signs in one that are not percent-encoded move its end into host,
// database or settings.
func CheckDatabase(address string) (wrong, remedy string) {
	// What url.Parse complains about may be the password.
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "is no URL of PostgreSQL", "write postgres://user:${PASSWORD}@host:5432/database, with % escapes for signs in user and password"
	case u.Host == "" && u.Query().Get("host") == "":
		return "names no host", "write postgres://user:${PASSWORD}@host:5432/database, or ?host=/folder/of/socket behind the database"
	case strings.Contains(u.RawQuery+u.Fragment, "@"), strings.Contains(u.EscapedPath(), "@"):
		return "holds an @ behind its host", strayRemedy
	case strings.Trim(u.Path, "/") == "":
		return "names no database", "write its name behind the host: postgres://host/database"
	case u.Fragment != "":
		return "holds a #", "write %23 for the sign itself"
	}
	return "", ""
}
