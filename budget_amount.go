// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// amountDecimals is how many decimals an [Amount] keeps.
	amountDecimals = 6
	// maxAmountDigits are the digits of the greatest amount, a million million
	// units, in millionths.
	maxAmountDigits = 12 + amountDecimals
	// maxAmount is the greatest amount.
	maxAmount Amount = 1e18 - 1
)

// ParseAmount reads a decimal number exactly, such as "12.50", "-3" or "1e3".
// It refuses what has more than six decimals and what is a million million
// units or more.
func ParseAmount(text string) (Amount, error) { return parseAmount(text, 0, false) }

// parseAmount reads a decimal number of units of 10^-scale. With up, what is
// finer than a millionth is rounded up and what is out of range becomes the
// greatest amount; otherwise both are refused.
func parseAmount(text string, scale int, up bool) (Amount, error) {
	digits, negative := strings.CutPrefix(text, "-")
	mantissa, power, exponent := cutExponent(digits)
	whole, fraction, point := strings.Cut(mantissa, ".")
	if whole == "" || point && fraction == "" || !onlyDigits(whole) || !onlyDigits(fraction) {
		return 0, fmt.Errorf("%q is not an amount: write a decimal number such as 12.50", text)
	}
	shift := 0
	if exponent {
		var err error
		if shift, err = strconv.Atoi(power); err != nil || shift < -99 || shift > 99 {
			return 0, fmt.Errorf("%q is not an amount: its exponent cannot be read", text)
		}
	}
	all := strings.TrimLeft(whole+fraction, "0")
	if all == "" {
		return 0, nil
	}
	trimmed := strings.TrimRight(all, "0")
	places := amountDecimals - scale - len(fraction) + shift + len(all) - len(trimmed)
	over := len(trimmed)+places > maxAmountDigits
	switch {
	case up && over && !negative:
		return maxAmount, nil
	case up && places < 0:
		kept, err := strconv.ParseInt("0"+trimmed[:max(0, len(trimmed)+places)], 10, 64)
		if negative {
			return Amount(-kept), err
		}
		return min(Amount(kept)+1, maxAmount), err
	case places < 0:
		return 0, fmt.Errorf("%q has more than %d decimals: amounts are exact to the millionth and are not rounded", text, amountDecimals)
	case over:
		return 0, fmt.Errorf("%q is out of range: amounts are less than 1000000000000", text)
	}
	value, err := strconv.ParseInt(trimmed+strings.Repeat("0", places), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is out of range: %w", text, err)
	}
	if negative {
		value = -value
	}
	return Amount(value), nil
}

// AmountOf reads an amount from a JSON number, by its text and never by way
// of a float, or from a JSON string that holds one.
func AmountOf(raw json.RawMessage) (Amount, error) {
	text, err := numberIn(raw)
	if err != nil {
		return 0, err
	}
	return ParseAmount(text)
}

// CostOf reads what something did cost from a JSON number or a JSON string, in
// units of 10^-scale: 2 for cents. It is for sums that are owed already and
// must not be lost, so that it never answers less than what is written: what is
// finer than a millionth is rounded up, and a million million units or more are
// the greatest [Amount].
func CostOf(raw json.RawMessage, scale int) (Amount, error) {
	text, err := numberIn(raw)
	if err != nil {
		return 0, err
	}
	return parseAmount(text, scale, true)
}

func numberIn(raw json.RawMessage) (string, error) {
	text := strings.TrimSpace(string(raw))
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", fmt.Errorf("reading an amount: %w", err)
		}
	}
	if text == "" {
		return "", errors.New("there is no amount")
	}
	return text, nil
}

// Plus adds two sums. Where the result is more than can be held it is the
// greatest that can, so that a budget that has given out too much to be counted
// is full and not empty again.
func (a Amount) Plus(b Amount) Amount {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// String writes the amount as a decimal number with at least two decimals.
func (a Amount) String() string {
	sign := ""
	magnitude := uint64(a)
	if a < 0 {
		sign, magnitude = "-", -magnitude
	}
	const unit = 1_000_000
	fraction := fmt.Sprintf("%0*d", amountDecimals, magnitude%unit)
	short := strings.TrimRight(fraction, "0")
	return fmt.Sprintf("%s%d.%s", sign, magnitude/unit, fraction[:max(2, len(short))])
}

func cutExponent(digits string) (mantissa, power string, found bool) {
	at := strings.IndexAny(digits, "eE")
	if at < 0 {
		return digits, "", false
	}
	return digits[:at], digits[at+1:], true
}

func onlyDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}
