// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"strings"
)

// attachment names a file of the content store.
type attachment struct {
	SHA256 string `json:"sha256"`
	Name   string `json:"name"`
	Type   string `json:"type"`

	bytes []byte
}

// hexDigest reads a SHA-256 with or without its prefix.
func hexDigest(text string) (string, bool) {
	text = strings.TrimPrefix(text, "sha256:")
	raw, err := hex.DecodeString(text)
	return text, err == nil && len(raw) == sha256.Size && text == strings.ToLower(text)
}

// check looks at what is written of the attachment, without its bytes.
func (a *attachment) check() error {
	digest, ok := hexDigest(a.SHA256)
	if !ok {
		return fmt.Errorf("sha256 %q is no SHA-256 in 64 lower-case hexadecimal digits", a.SHA256)
	}
	a.SHA256 = digest
	if wrong := headerText(a.Name); wrong != "" {
		return fmt.Errorf("its name %s", wrong)
	}
	if a.Name == "" || len(a.Name) > 200 || strings.ContainsAny(a.Name, "/\\") || strings.HasPrefix(a.Name, ".") {
		return fmt.Errorf("name %q is no file name: give 1 to 200 characters, no path, no dot in front", a.Name)
	}
	orDefault(&a.Type, "application/octet-stream")
	kind, parameters, err := mime.ParseMediaType(a.Type)
	if err != nil || strings.Count(kind, "/") != 1 || len(parameters) > 0 || !isASCII(kind) {
		return fmt.Errorf("type %q is no media type such as application/pdf", a.Type)
	}
	if strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") {
		return fmt.Errorf("type %q is not taken for attachments", a.Type)
	}
	a.Type = kind
	return nil
}

// load reads the bytes, at most limit, and compares them with the digest: those that were compared are those that are sent.
func (a *attachment) load(folder string, limit int64) error {
	if folder == "" {
		return errors.New("the account has no content store for attachments")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("opening the content store: %w", err)
	}
	defer root.Close()
	file, err := root.Open(a.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the content store holds nothing under sha256 %s", a.SHA256)
	}
	if err != nil {
		return fmt.Errorf("reading the content store: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return fmt.Errorf("reading the content store: %w", err)
	}
	if int64(len(content)) > limit {
		return fmt.Errorf("with it the mail has more than the %d bytes that the account takes", limit)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != a.SHA256 {
		return fmt.Errorf("what the content store holds under sha256 %s has the digest %s: it was changed", a.SHA256, hex.EncodeToString(sum[:]))
	}
	a.bytes = content
	return nil
}

// loadAll reads all attachments of a mail within one limit.
func loadAll(list []attachment, folder string, limit int64) error {
	for i := range list {
		if err := list[i].check(); err != nil {
			return fmt.Errorf("attachment %d: %w", i+1, err)
		}
		if err := list[i].load(folder, limit); err != nil {
			return fmt.Errorf("attachment %d (%s): %w", i+1, list[i].Name, err)
		}
		limit -= int64(len(list[i].bytes))
	}
	return nil
}
