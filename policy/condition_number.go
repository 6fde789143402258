// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/deed-run/deed/internal/canon"
)

// unrounded reads a canonical number as the double whose shortest text it is; where
// there is none, rounded says what would become of the number.
func unrounded(number json.Number) (f float64, rounded string, err error) {
	if f, err = number.Float64(); err != nil {
		return 0, "", err
	}
	same, err := canon.CanonicalJSON(strconv.AppendFloat(nil, f, 'g', -1, 64))
	if err != nil || string(same) == number.String() {
		return f, "", err
	}
	return f, fmt.Sprintf("%.40s would be rounded to %s: send it with at most 15 digits", number, same), nil
}

// asDouble reads a number as the double that is nearest.
func asDouble(number json.Number) (any, error) { return number.Float64() }

// exactly reads a canonical number without rounding it.
func exactly(number json.Number) (any, error) {
	if n, err := strconv.ParseUint(number.String(), 10, 64); err == nil {
		return n, nil // also where a double holds it: beside one, another would be rounded
	}
	f, rounded, err := unrounded(number)
	if err != nil || rounded == "" {
		return f, err
	}
	return longNumber(number), nil
}

// wholeExactly reads whole numbers without rounding them, all others as doubles.
func wholeExactly(number json.Number) (any, error) {
	digits, exponent, _ := strings.Cut(number.String(), "e")
	_, fraction, _ := strings.Cut(digits, ".")
	if n, err := strconv.Atoi("0" + strings.TrimPrefix(exponent, "+")); err == nil && n >= len(fraction) {
		return exactly(number)
	}
	return asDouble(number)
}

// longNumber is a number that no double holds. It equals itself and nothing else,
// which is exact, and no function takes it: an expression that orders it, or counts
// with it, fails. Where it is not read it hurts nobody.
type longNumber string

var longNumberType = types.NewOpaqueType("long_number")

func (n longNumber) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s is no %s", string(n), to)
}

func (n longNumber) ConvertToType(to ref.Type) ref.Val {
	if to == types.TypeType {
		return longNumberType
	}
	return types.NewErr("%s is no %s", string(n), to.TypeName())
}

func (n longNumber) Equal(other ref.Val) ref.Val { return types.Bool(other == ref.Val(n)) }
func (n longNumber) Type() ref.Type              { return longNumberType }
func (n longNumber) Value() any                  { return string(n) }
