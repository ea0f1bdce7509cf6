package reportpage

import (
	_ "embed" // the scripts
	"regexp"
	"strings"
)

//go:embed script/base.js
var baseScript string

//go:embed script/timeline.js
var timelineScript string

//go:embed script/waterfall.js
var waterfallScript string

//go:embed script/flame.js
var flameScript string

// maxScript bounds the script of a page.
const maxScript = 20_000

// script is the script that all pages contain. Its parts share one scope. It omits comments, indentation, and the spaces and line
// ends that code does not need, and uses let instead of const.
var script = func() string {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	for line := range strings.Lines(baseScript + timelineScript + waterfallScript + flameScript) {
		if line = strings.TrimLeft(line, " "); line == "\n" || strings.HasPrefix(line, "//") {
			continue
		}
		if end := len(line) - 2; end >= 0 && strings.IndexByte(";{,", line[end]) >= 0 {
			line = line[:end+1]
		}
		for i, part := range strings.Split(line, `"`) { // every other part is a string
			if i > 0 {
				b.WriteByte('"')
			}
			if i%2 == 0 {
				part = strings.ReplaceAll(spaces.ReplaceAllString(part, "$1"), "const ", "let ")
			}
			b.WriteString(part)
		}
	}
	b.WriteString("})();\n")
	return b.String()
}()

// spaces matches an operator with the spaces around it, which code does not need.
var spaces = regexp.MustCompile(` *([-=+*/<>?:,;{}()&|!\[\]]) *`)
