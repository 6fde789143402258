// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package deed

import (
	"crypto/sha256"
	"encoding/hex"
)

// digestOf names bytes by their SHA-256; nothing has the empty digest.
func digestOf(data []byte) Digest {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}
