// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package httpgate

import (
	"fmt"
	"unicode/utf8"
)

// legible refuses texts of a request that are not UTF-8: JSON, in which an effect
// is written down, would make one letter of all that it cannot hold (RFC 8259
// section 8.1), and two effects one.
func legible(place string, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s has letters that are not UTF-8, and no record could tell them apart: send them in UTF-8", place)
		}
	}
	return nil
}
