// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// asset is a file that pages load, with a tag of its content.
type asset struct {
	kind string
	tag  string
	body []byte
}

func readAssets() (map[string]asset, error) {
	assets := map[string]asset{}
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		body, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}[path.Ext(entry.Name())]
		if kind == "" {
			kind = mime.TypeByExtension(path.Ext(entry.Name()))
		}
		assets[entry.Name()] = asset{kind, hex.EncodeToString(sum[:6]), body}
	}
	return assets, nil
}

// link names an asset by its content: a new version is a new address.
func (c *Console) link(name string) (string, error) {
	a, ok := c.assets[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %s", name)
	}
	return "/assets/" + name + "?" + a.tag, nil
}

func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := c.assets[r.PathValue("name")]
	if !ok {
		c.plain(w, http.StatusNotFound, "There is no such file.")
		return
	}
	w.Header().Set("Content-Type", a.kind)
	if r.URL.RawQuery == a.tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(a.body)
}

// parsePages gives every page file a set of its own with the frame and the
// shared parts, so that each may define its own main.
func (c *Console) parsePages() (map[string]*template.Template, error) {
	shared, err := template.New("shared").Funcs(c.functions()).ParseFS(pageFiles, "pages/frame.html", "pages/part_*.html")
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(pageFiles, "pages")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, entry := range entries {
		name, _ := strings.CutSuffix(entry.Name(), ".html")
		if name == "frame" || strings.HasPrefix(name, "part_") {
			continue
		}
		page, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if pages[name], err = page.ParseFS(pageFiles, "pages/"+entry.Name()); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   c.link,
		"runs":    func(text any) []run { return visible(fmt.Sprint(text), 4096) },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" },
		"ago":     func(t time.Time) string { return ago(c.Clock.Now(), t) },
		"past":    func(t time.Time) bool { return !c.Clock.Now().Before(t) },
		"short":   short,
		"isZero":  func(t time.Time) bool { return t.IsZero() },
		"words":   statusWords,
		"plural":  plural,
		"wrapped": func(text string) string { return strings.ReplaceAll(text, "_", " ") },
	}
}
