// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package connector

// Permitted is permitted, for tests of addresses that cannot be served here.
var Permitted = permitted

// CheckProvider parses a file of the catalogue.
func CheckProvider(source []byte, file string) error {
	_, err := parseProvider(source, file)
	return err
}

// CheckCatalogue parses all that is shipped.
func CheckCatalogue() []error {
	var list []error
	for _, name := range providerNames() {
		if _, err := shipped(name); err != nil {
			list = append(list, err)
		}
	}
	return list
}
