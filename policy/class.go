// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	"github.com/deed-run/deed"
)

// class is the effect class of a tool and how it was found.
type class struct {
	effect deed.EffectClass
	why    string
	// refused: nothing is known of the tool and such tools are denied.
	refused bool
}

// unnamedOfProgram is the class of a tool that only its program and the
// configuration could name, and that the latter does not: it is misspelt, or its
// rules, consent and budget are missing.
var unnamedOfProgram = class{
	effect: deed.EffectNonIdempotent, why: "of a program's tools only those are known that an entry of tools names", refused: true,
}

// classify finds the class of a tool. What a person declared counts first, then
// a readOnlyHint that is pinned and that the name does not contradict, then the
// name, then the default. idempotentHint alone never permits a re-run.
func classify(tool deed.Tool, declared Tool, configured, looks bool, defaults Defaults, facts deed.ToolFacts) class {
	if declared.Effect != "" {
		return class{effect: declared.Effect, why: "declared in the configuration"}
	}
	if looks && !isTrue(facts.DestructiveHint) {
		return class{effect: deed.EffectReadOnly, why: "the configuration looks effects up with it, and its name says that it reads"}
	}
	doubt := ""
	if isTrue(facts.ReadOnlyHint) {
		if doubt = distrusted(tool, defaults, facts); doubt == "" {
			return class{effect: deed.EffectReadOnly, why: "its pinned definition says readOnlyHint, and its name does not contradict"}
		}
		doubt = ", and its readOnlyHint does not count: " + doubt
	}
	if defaults.UnknownTool == UnknownInfer {
		verb, reads := readVerb(tool)
		switch {
		case reads && !isTrue(facts.DestructiveHint):
			return class{effect: deed.EffectReadOnly, why: "its name begins with the read verb " + verb + " " + guessed}
		case reads:
			return class{effect: deed.EffectNonIdempotent, why: "its name begins with the read verb " + verb + " but it carries destructiveHint" + doubt}
		}
		return class{effect: deed.EffectNonIdempotent, why: "nothing says that it only reads " + guessed + doubt}
	}
	if defaults.UnknownTool == UnknownDeny && !configured {
		return class{effect: deed.EffectNonIdempotent, why: "no entry names it (unknown_tool: deny)" + doubt, refused: true}
	}
	return class{effect: deed.EffectNonIdempotent, why: "nothing says that it only reads (unknown_tool: " + string(defaults.UnknownTool) + ")" + doubt}
}

// guessed ends the reason of a class that rests on the tool's name.
const guessed = "(unknown_tool: infer)"

// GuessedRead reports whether a rule of this package lets a tool pass as a read
// only because its name says so.
func GuessedRead(rule deed.Rule) bool {
	return rule.Effect == deed.EffectReadOnly && strings.HasSuffix(rule.Why, guessed)
}

// distrusted says why a readOnlyHint does not count, or "".
func distrusted(tool deed.Tool, defaults Defaults, facts deed.ToolFacts) string {
	word, found := contradicts(tool)
	switch {
	case defaults.Annotations == AnnotationsIgnore:
		return "annotations: ignore"
	case facts.Definition == "":
		return "its definition is not pinned"
	case facts.Quarantined:
		return "its definition changed and nobody has accepted it"
	case isTrue(facts.DestructiveHint):
		return "it carries destructiveHint as well"
	case found:
		return "its name says " + word
	}
	return ""
}

func isTrue(hint *bool) bool { return hint != nil && *hint }
