// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/deed-run/deed"
	"github.com/deed-run/deed/internal/console"
)

// violation is a rule of axe-core that a page breaks, and where.
type violation struct {
	Rule  string   `json:"rule"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// rulesIn names what axe-core looks at in a theme. The dark page is the light
// one in other colours, byte for byte, so that only rules about colours can
// find more in it.
var rulesIn = map[string]string{
	"light": `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`,
	"dark":  `{type: "rule", values: ["color-contrast", "link-in-text-block"]}`,
}

const runAxe = `axe.run(document, {resultTypes: ["violations"], preload: false, runOnly: RULES})
	.then(r => r.violations.map(v => ({rule: v.id, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 200) + " " + (n.any[0] ? n.any[0].message : ""))})))`

// TestEveryPageIsAccessible looks at every page in both themes: WCAG 2.2 A and
// AA, no broken script, nothing that the content security policy held back.
// With DEED_SCREENSHOTS set it keeps pictures of them in docs/screenshots.
func TestEveryPageIsAccessible(t *testing.T) {
	r := newRig(t, nil)
	s := r.scene()
	b := browse(t, r)
	source := axe(t)
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.open("/login")
		b.judge(theme, "login", source)
	}
	b.enter("operator-token")
	others := []scenePage{
		{"", "/flags"}, {"", "/ledger?actor=nobody"}, {"", "/ledger?status=unsure"}, {"", "/op/op_00000000000000000000000000"}, {"", "/nowhere"},
		{"", "/compare?a=" + string(s.done) + "&b=" + string(s.doubt)}, {"", "/uncertain?all=yes"}, {"", "/ledger?text=re_40"},
	}
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for _, page := range append(slices.Clone(s.pages), others...) {
			b.open(page.path)
			b.judge(theme, page.name, source)
		}
		b.open("/approvals")
		ask[bool](b, `(() => { document.querySelectorAll("input[name=id]").forEach(c => c.checked = true); return true })()`)
		b.do(chromedp.Click(chromedp.CSS(`form[action="/approvals/review"] button`)))
		b.until(`document.querySelector("h1").textContent == "Approve together"`)
		b.judge(theme, "together", source)
		b.open("/op/" + string(s.waits))
		b.do(chromedp.KeyEvent("a"))
		b.until(`document.querySelector("#confirm").open`)
		b.judge(theme, "", source)
	}
	r.store.fail(errDown)
	for _, path := range []string{"/", "/ledger", "/uncertain", "/approvals"} {
		b.open(path)
		b.judge("light", "", source)
	}
	r.store.fail(nil)
}

func TestTheLocalConsoleIsAccessible(t *testing.T) {
	r := newRig(t, func(o *console.Options) {
		o.Tokens, o.Local, o.Bootstrap = nil, &deed.Principal{Tenant: "acme", Actor: "local"}, strings.Repeat("b", 40)
	})
	r.scene()
	b := browse(t, r)
	source := axe(t)
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.open("/")
		b.judge(theme, "", source)
		b.open("/login")
		b.judge(theme, "", source)
	}
}

// TestPagesReflow looks at every page in a window 320 wide (WCAG 2.2, 1.4.10):
// differences may scroll by themselves, pages and lists may not.
func TestPagesReflow(t *testing.T) {
	r := newRig(t, nil)
	s := r.scene()
	b := browse(t, r)
	b.do(chromedp.EmulateViewport(320, 800))
	b.enter("operator-token")
	for _, page := range s.pages {
		b.open(page.path)
		if over := ask[string](b, widest); over != "" {
			t.Errorf("%s is wider than the window: %s", page.name, over)
		}
		if ask[bool](b, `[...document.querySelectorAll(".scroll:has(.rows)")].some(e => e.scrollWidth > e.clientWidth)`) {
			t.Errorf("%s has a list that is wider than the window", page.name)
		}
	}
}

// widest names what sticks out of the window, if anything makes it scroll.
const widest = `document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")]
	.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll")).slice(0, 4).map(e => e.outerHTML.slice(0, 120)).join("\n") || "something"`

// judge checks the page that is open, and keeps a picture of it when asked to.
func (b *browser) judge(theme, name, source string) {
	b.t.Helper()
	where := ask[string](b, "location.pathname + location.search")
	b.do(chromedp.Evaluate[chromedp.Void](source))
	if diff := cmp.Diff([]violation{}, ask[[]violation](b, strings.Replace(runAxe, "RULES", rulesIn[theme], 1))); diff != "" {
		b.t.Errorf("%s in %s breaks rules of axe-core (-want +got):\n%s", where, theme, diff)
	}
	if ask[float64](b, "document.documentElement.scrollWidth - innerWidth") > 0 {
		b.t.Errorf("%s is wider than the window", where)
	}
	if said := b.complaints(); len(said) > 0 {
		b.t.Errorf("%s in %s: the browser says %q", where, theme, said)
	}
	if name == "" || os.Getenv("DEED_SCREENSHOTS") == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	keep(b.t.Context(), b, name+"-"+theme+".png", picture)
}

// keep writes a picture with a palette: pages have few colours, and a
// repository keeps every version.
func keep(_ context.Context, b *browser, name string, picture []byte) {
	b.t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		b.t.Fatal(err)
	}
	counts := map[color.RGBA]int{}
	bounds := full.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	colours := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, c color.RGBA) int { return counts[c] - counts[a] })
	palette := color.Palette{}
	for _, c := range colours[:min(128, len(colours))] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)
			at, ok := nearest[c]
			if !ok {
				at = uint8(palette.Index(c))
				nearest[c] = at
			}
			small.SetColorIndex(x, y, at)
		}
	}
	folder := filepath.Join("..", "..", "docs", "screenshots")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(file, small); err != nil {
		b.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.t.Fatal(err)
	}
}
