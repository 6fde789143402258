// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package models_test checks the protocol models of docs/model exhaustively:
// every property holds with every rule on, and without any one rule some
// property fails.
package models_test

import (
	"os"
	"testing"
)

var rules = []string{"FIX_SENDBY", "FIX_SETTLE", "FIX_CAS", "FIX_LATE", "FIX_STICKY"}

var properties = []property{
	{name: "atMostOnce"},
	{name: "noFalseFailed"},
	{name: "refusalIsNoProof"},
	{name: "committedFinal"},
	{name: "noLostReceipt", fair: true},
}

var settles = property{name: "settles", fair: true}

var twinProperty = property{name: "noSecondWhileUnresolved"}

// configuration is a model's size and how many states its search must reach at
// least, so that a search that has shrunk to nothing is noticed.
type configuration struct {
	name        string
	definitions []string
	properties  []property
	leastStates int
}

// configurations returns what every run checks and, with DEED_MODEL=large, what
// takes minutes and a gigabyte.
func configurations(t *testing.T) []configuration {
	t.Helper()
	small := []configuration{
		{name: "two workers", properties: properties, leastStates: 1_000_000},
		{name: "two workers, one call each", definitions: []string{"CALLS=1"}, properties: []property{settles}, leastStates: 100_000},
	}
	switch size := os.Getenv("DEED_MODEL"); size {
	case "":
		return small
	case "large":
		return append(small,
			configuration{name: "two workers, two calls each", properties: []property{settles}, leastStates: 1_000_000},
			configuration{name: "three workers, two crashes", definitions: []string{"NW=3", "CRASHES=2", "CALLS=1"},
				properties: properties, leastStates: 5_000_000})
	default:
		t.Fatalf("DEED_MODEL=%q is no size: write large, or leave it unset", size)
		return nil
	}
}

func TestEveryPropertyHoldsWithEveryRule(t *testing.T) {
	for _, c := range configurations(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			verifier := compile(t, "model.pml", append(c.definitions, rules...))
			for _, property := range c.properties {
				t.Run(property.name, func(t *testing.T) { verifier.mustHold(t, property, c.leastStates) })
			}
		})
	}
}

func TestWithoutOneRuleAPropertyFails(t *testing.T) {
	t.Parallel()
	failing := map[string][]string{
		"FIX_SENDBY": {"atMostOnce", "noFalseFailed"},
		"FIX_SETTLE": {"atMostOnce", "noFalseFailed"},
		"FIX_CAS":    {"atMostOnce", "noFalseFailed"},
		"FIX_LATE":   {"noLostReceipt"},
		"FIX_STICKY": {"refusalIsNoProof"},
	}
	for _, rule := range rules {
		t.Run(rule, func(t *testing.T) {
			if len(failing[rule]) == 0 {
				t.Fatalf("no property is named that fails without %s: a rule nothing depends on is not checked", rule)
			}
			verifier := compile(t, "model.pml", without(rules, rule))
			for _, property := range properties {
				for _, name := range failing[rule] {
					if property.name == name {
						verifier.mustFail(t, property)
					}
				}
			}
		})
	}
}

func TestNoSecondOperationBeginsWhileItsTwinIsUnresolved(t *testing.T) {
	t.Parallel()
	twinRules := []string{"BLOCK_OPEN", "LOCK"}
	t.Run("with both rules", func(t *testing.T) {
		compile(t, "twin.pml", twinRules).mustHold(t, twinProperty, 50)
	})
	for _, rule := range twinRules {
		t.Run("not without "+rule, func(t *testing.T) {
			compile(t, "twin.pml", without(twinRules, rule)).mustFail(t, twinProperty)
		})
	}
	t.Run("not when an expired lease alone counts as uncertain", func(t *testing.T) {
		compile(t, "twin.pml", []string{"LOCK", "EFFECTIVE"}).mustFail(t, twinProperty)
	})
}

func without(rules []string, taken string) []string {
	var left []string
	for _, rule := range rules {
		if rule != taken {
			left = append(left, rule)
		}
	}
	return left
}
