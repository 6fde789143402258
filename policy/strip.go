// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/canon"
)

// strip takes out of arguments what plant wrote there with the same marks, and
// leaves what is not there alone. Where a caller had sent an empty object or a null in
// the place of a mark, the result is not what it sent; whoever needs that
// compares fingerprints.
func (t Tool) strip(planted []byte, marks deed.Marks) ([]byte, error) {
	if err := canon.Strict(planted); err != nil {
		return nil, errors.New(plain(err))
	}
	if t.ProviderKey != nil && t.ProviderKey.Into != "" && marks.ProviderKey != "" {
		planted = taken(planted, t.ProviderKey.Into, disowned(marks.ProviderKey))
	}
	if t.ClientID != nil && marks.ClientID != "" {
		planted = taken(planted, t.ClientID.Into, disowned(marks.ClientID))
	}
	if m := t.Marker; m != nil && marks.Marker != "" {
		text := strings.Replace(m.Template, "{marker}", marks.Marker, 1)
		if m.Into != "" {
			planted = taken(planted, m.Into, disowned(text))
		} else {
			planted = taken(planted, m.Append, shortened(text))
		}
	}
	return planted, nil
}

// removal makes what is left of a value, nil for nothing.
type removal func(old json.RawMessage) json.RawMessage

// disowned is the reverse of owned.
func disowned(text string) removal {
	return func(old json.RawMessage) json.RawMessage {
		if string(old) == string(quote(text)) {
			return nil
		}
		return old
	}
}

// shortened is the reverse of appended.
func shortened(text string) removal {
	return func(old json.RawMessage) json.RawMessage {
		if string(old) == string(quote(strings.TrimLeft(text, "\n"))) {
			return nil
		}
		if rest, ends := strings.CutSuffix(string(old), string(quote(text)[1:])); ends && old[0] == '"' {
			return json.RawMessage(rest + `"`)
		}
		return old
	}
}

// taken changes the value at a pointer, if there is one. A member of which
// nothing is left goes, and so do the objects that are empty without it. The
// document has been checked.
func taken(doc []byte, pointer string, by removal) []byte {
	out, _ := takenBelow(doc, skipSpace(doc, 0), pointer, by)
	return out
}

func takenBelow(doc []byte, start int, rest string, by removal) (out []byte, emptied bool) {
	name, below, deeper := strings.Cut(rest[1:], "/")
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	switch doc[start] {
	case '[':
		if from, _, found := element(doc, start, name); found && deeper {
			out, _ = takenBelow(doc, from, "/"+below, by)
			return out, false
		}
		return doc, false
	case '{':
	default:
		return doc, false
	}
	from, to, _, _, found := member(doc, start, name)
	if !found {
		return doc, false
	}
	if deeper {
		if out, emptied = takenBelow(doc, from, "/"+below, by); !emptied {
			return out, false
		}
		doc = out
		_, to, _, _, _ = member(doc, start, name)
	} else if left := by(doc[from:to]); left != nil {
		return splice(doc, from, to, left), false
	}
	return dropped(doc, start, name, to)
}

// dropped removes a member whose value ends at to, with one comma, and says
// whether the object has no other.
func dropped(doc []byte, start int, name string, to int) (out []byte, emptied bool) {
	before, key := -1, skipSpace(doc, start+1)
	for {
		end := skipValue(doc, key)
		var is string
		_ = json.Unmarshal(doc[key:end], &is)
		if is == name {
			break
		}
		before = skipSpace(doc, skipValue(doc, skipSpace(doc, skipSpace(doc, end)+1)))
		key = skipSpace(doc, before+1)
	}
	switch after := skipSpace(doc, to); {
	case before >= 0:
		return splice(doc, before, to, nil), false
	case doc[after] == ',':
		return splice(doc, key, skipSpace(doc, after+1), nil), false
	}
	return splice(doc, key, to, nil), true
}
