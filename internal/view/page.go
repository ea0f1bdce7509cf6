package view

import (
	_ "embed"
	"strings"
)

// The parts of the page. They contain nothing about traces, whose names arrive as data and are shown as text.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

// A page is the page served at the secret, with its Content-Security-Policy.
type page struct{ html, policy string }

// newPage assembles the page. Its policy allows only its own style and script, requests to its own origin, and frames of the
// UI and of its own origin (rule 7).
func newPage(uiOrigin string) page {
	html := strings.NewReplacer("/* style */", pageCSS, "/* script */", pageJS).Replace(pageHTML)
	return page{
		html: html,
		policy: "default-src 'none'; script-src " + cspHash([]byte(pageJS)) + "; style-src " + cspHash([]byte(pageCSS)) +
			"; connect-src 'self'; frame-src " + uiOrigin + " 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}
