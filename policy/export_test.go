// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package policy

// CompileCondition is what a deny rule compiles its condition with.
var CompileCondition = compileCondition
