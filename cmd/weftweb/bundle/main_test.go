package main

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// find returns the first group of the only match of an expression in a page.
func find(t *testing.T, page, expression string) string {
	t.Helper()
	found := regexp.MustCompile(expression).FindAllStringSubmatch(page, -1)
	if len(found) != 1 {
		t.Fatalf("%s: %d times in the page", expression, len(found))
	}
	return found[0][1]
}

// TestPolicy: the policy allows the page's own script and style, but no connections, except that the hosted page may fetch its
// module.
func TestPolicy(t *testing.T) {
	p, err := newPage([]byte("// Go's support\n"))
	if err != nil {
		t.Fatal(err)
	}
	single, err := p.single([]byte("\x00asm, as it were"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		page    string
		connect bool
	}{
		"weft.html": {string(single), false}, "weft-hosted": {string(p.fill("", true)), true},
	} {
		t.Run(name, func(t *testing.T) {
			policy := html.UnescapeString(find(t, c.page, `(?s)<meta http-equiv="Content-Security-Policy" content="(.*?)">`))
			directives := map[string]string{}
			for directive := range strings.SplitSeq(policy, ";") {
				what, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
				directives[what] = sources
			}
			if directives["default-src"] != "'none'" {
				t.Errorf("default-src %s", directives["default-src"])
			}
			if sources, ok := directives["connect-src"]; ok != c.connect || c.connect && sources != "'self'" {
				t.Errorf("connect-src %q", sources)
			}
			if promise := find(t, c.page, `Nothing is uploaded: (.*?)\.</p>`); c.connect == strings.Contains(promise, "anything") {
				t.Errorf("the page says that %s", promise)
			}
			for what, expression := range map[string]string{"script-src": `(?s)<script>(.*?)</script>`, "style-src": `(?s)<style>(.*?)</style>`} {
				if want := "'" + hash(find(t, c.page, expression)) + "'"; !strings.Contains(directives[what], want) {
					t.Errorf("%s has no %s: %s", what, want, directives[what])
				}
			}
			for what, sources := range directives {
				if strings.Contains(sources, "unsafe-inline") || strings.Contains(sources, "'unsafe-eval'") || strings.Contains(sources, "*") {
					t.Errorf("%s %s", what, sources)
				}
			}
			if c.connect == strings.Contains(c.page, "H4sI") {
				t.Errorf("the page holds a module: %v", !c.connect)
			}
			if !strings.Contains(c.page, "// Go's support") {
				t.Error("the worker has no support for Go's modules")
			}
			if strings.Contains(c.page, "{{") {
				t.Error("a place of the page was not filled")
			}
		})
	}
}

// TestScriptsCannotEndThePage: text that would end a script inside the page is rejected.
func TestScriptsCannotEndThePage(t *testing.T) {
	for _, support := range []string{`"</SCRIPT>"`, "<!-- a comment"} {
		if _, err := newPage([]byte(support)); err == nil {
			t.Errorf("%s: no error", support)
		}
	}
}
