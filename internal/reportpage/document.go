package reportpage

import (
	"crypto/sha256"
	_ "embed" // the style
	"encoding/base64"
)

//go:embed page.css
var css string

// document writes the frame that all pages share.
type document struct{ writer }

// begin writes the head of the page. The parameter heading is the verdict, with rating as its class attribute; if heading is
// empty, the title replaces it. The parameter selected names the part of the trace that the page shows; "": all of it.
func (d *document) begin(title string, heading, rating markup, subtitle []markup, selected string) {
	d.p("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n")
	d.p("<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
		hashOf(css), hashOf(script))
	d.p("<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<meta name=color-scheme content=\"light dark\">\n<meta name=referrer content=no-referrer>\n")
	d.p("<title>%s – weft report</title>\n<style>%s</style>\n</head>\n<body>\n", title, markup(css))
	if heading == "" {
		heading = d.text(title)
	} else {
		subtitle = append([]markup{d.text(title)}, subtitle...)
	}
	d.p("<header>\n<div class=top><p class=sub>")
	for i, part := range subtitle {
		if i > 0 {
			d.p(" · ")
		}
		d.p("%s", part)
	}
	d.p("</p><button type=button id=theme hidden>Dark</button></div>\n<h1%s>%s</h1>\n", rating, heading)
	if selected != "" {
		d.p("<p class=sub>Only %s.</p>\n", selected)
	}
	d.p("</header>\n<main>\n")
}

// end writes the foot of the page. data is the JSON for the script; "": none.
func (d *document) end(data string) {
	d.p("</main>\n<footer><p>Made by weft. All numbers match <code>weft report</code> and <code>weft compare</code>; docs/reports.md defines them. Nothing in this page is loaded from anywhere.</p></footer>\n")
	if data != "" {
		d.p("<script type=\"application/json\" id=data>%s</script>\n", markup(data))
	}
	d.p("<script>%s</script>\n</body>\n</html>\n", markup(script))
}

// Hashes returns the CSP hashes of the script and the style of all pages, for pages that embed one of these pages in a frame. The
// frame inherits the policy of the embedding page.
func Hashes() (scriptHash, styleHash string) { return string(hashOf(script)), string(hashOf(css)) }

// hashOf returns the CSP hash of a script or style.
func hashOf(text string) markup {
	sum := sha256.Sum256([]byte(text))
	return markup("sha256-" + base64.StdEncoding.EncodeToString(sum[:]))
}

// phrase returns the markup that p would write.
func (d *document) phrase(format string, args ...any) markup {
	w := writer{keepURLs: d.keepURLs}
	w.p(format, args...)
	return markup(w.String())
}
