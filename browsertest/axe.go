package browsertest

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// needsAxe skips a test if axe-core, which checks accessibility, is missing.
func needsAxe(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(os.Getenv("WEFT_AXE")); err != nil {
		t.Skip("WEFT_AXE is not the path of axe.min.js: npm install axe-core, and WEFT_AXE=node_modules/axe-core/axe.min.js")
	}
}

// Accessible fails the test if the page breaks accessibility rules or scrolls sideways. It does not check frames.
func (p *Page) Accessible(what string) {
	p.t.Helper()
	axe, err := os.ReadFile(os.Getenv("WEFT_AXE"))
	if err != nil {
		p.t.Fatal(err)
	}
	Eval[chromedp.Void](p, string(axe)+"; undefined")
	for _, f := range Eval[[]string](p, `axe.run({iframes: false}).then((r) =>
		r.passes.length < 10 ? ["axe checked " + r.passes.length + " rules only"] : r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + v.help + ": " + n.html.slice(0, 200))))`) {
		p.t.Errorf("%s: %s", what, f)
	}
	if Eval[bool](p, "document.documentElement.scrollWidth > innerWidth") {
		p.t.Errorf("%s: wider than the window", what)
	}
}

// looks returns the window sizes and themes in which every page must work.
func looks() map[string][]chromedp.Action[chromedp.Void] {
	return map[string][]chromedp.Action[chromedp.Void]{
		"light": Look(1280, 900, false), "dark": Look(1280, 900, true), "narrow": Look(400, 900, false), "narrow dark": Look(400, 900, true),
	}
}
