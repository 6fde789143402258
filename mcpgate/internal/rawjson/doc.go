// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// Package rawjson reads and edits JSON documents without decoding them: every
// byte that an edit does not name stays as it was, with its order, its white
// space, its big numbers and its lone surrogates. It does not validate meaning
// and does not detect duplicate members below the level that it looks at;
// canon.Strict does. Start with [Get], [Set] and [Remove].
package rawjson
