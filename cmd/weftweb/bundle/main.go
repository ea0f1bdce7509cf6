// Command bundle builds the module of command weftweb and makes the page around it:
//
//	weft.html      one file, which contains everything and connects to nothing
//	weft-hosted/   the same in separate files, for web servers that set headers: index.html, report.png, weft.wasm and weft.wasm.br
//
// make web runs it in the folder of weft's module.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/andybalholm/brotli"

	"github.com/weft-trace/weft/internal/reportpage"
)

//go:embed page
var page embed.FS

func main() {
	out := flag.String("o", ".", "the `folder` in which the pages are made")
	level := flag.Int("brotli", brotli.BestCompression, "the `level` of weft.wasm.br, 0 to 11; 11 takes most of a minute")
	flag.Parse()
	if err := run(*out, *level); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(out string, level int) error {
	module, err := buildModule()
	if err != nil {
		return err
	}
	support, err := goSupport()
	if err != nil {
		return err
	}
	p, err := newPage(support)
	if err != nil {
		return err
	}
	if err := p.addFiles(); err != nil {
		return err
	}
	single, err := p.single(module)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "weft.html"), single, 0o666); err != nil {
		return err
	}
	return p.writeHosted(filepath.Join(out, "weft-hosted"), module, level)
}

// buildModule builds command weftweb without symbols and debug information.
func buildModule() ([]byte, error) {
	dir, err := os.MkdirTemp("", "weftweb-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "weft.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", name, "github.com/weft-trace/weft/cmd/weftweb")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building the module: %w", err)
	}
	return os.ReadFile(name)
}

// goSupport returns wasm_exec.js from the Go installation that builds the module, because the two must match.
func goSupport() ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
}

// pageParts holds the files in folder page; worker starts with Go's own script.
type pageParts struct {
	html, style, script, worker string

	picture  []byte // a report, as a PNG
	examples string // buttons, and the files that they open
}

// reportPicture is the picture on the first screen.
const reportPicture = "docs/report.png"

// examples lists the traces embedded in the page.
var examples = []struct{ text, file string }{
	{"a page in Chrome", "testdata/traces/chrome/chrome-devtools-tiny.json.gz"},
	{"an HTTP archive", "testdata/clocks/node/page.har.gz"},
	{"a GPU job", "testdata/traces/merge/rank0.json.gz"},
}

// addFiles reads the picture and the examples.
func (p *pageParts) addFiles() (err error) {
	if p.picture, err = os.ReadFile(reportPicture); err != nil {
		return err
	}
	var buttons, files strings.Builder
	for _, e := range examples {
		content, err := os.ReadFile(filepath.FromSlash(e.file))
		if err != nil {
			return err
		}
		name := html.EscapeString(path.Base(e.file))
		fmt.Fprintf(&buttons, "<button type=\"button\" data-file=\"%s\">%s</button>\n", name, html.EscapeString(e.text))
		fmt.Fprintf(&files, "<script id=\"%s\" type=\"text/plain\">%s</script>\n", name, base64.StdEncoding.EncodeToString(content))
	}
	p.examples = buttons.String() + files.String()
	return nil
}

func newPage(support []byte) (*pageParts, error) {
	p := &pageParts{}
	for name, to := range map[string]*string{"page.html": &p.html, "page.css": &p.style, "page.js": &p.script, "worker.js": &p.worker} {
		text, err := page.ReadFile("page/" + name)
		if err != nil {
			return nil, err
		}
		*to = string(text)
	}
	p.worker = string(support) + "\n" + p.worker
	for _, text := range []string{p.worker, p.script, p.style} {
		lower := strings.ToLower(text)
		if strings.Contains(lower, "</script") || strings.Contains(lower, "</style") || strings.Contains(text, "<!--") {
			return nil, errors.New("a script or a style sheet holds what would end it inside a page")
		}
	}
	return p, nil
}

// single returns weft.html. Its policy has no connect-src, so that nothing in it can connect to anything; a worker created from a
// blob inherits the policy.
func (p *pageParts) single(module []byte) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(module); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return p.fill(base64.StdEncoding.EncodeToString(packed.Bytes()), false), nil
}

// writeHosted writes the folder with the hosted page, which fetches its module from the same folder.
func (p *pageParts) writeHosted(dir string, module []byte, level int) error {
	var packed bytes.Buffer
	z := brotli.NewWriterLevel(&packed, level)
	if _, err := z.Write(module); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"index.html": p.fill("", true), pictureName: p.picture, "weft.wasm": module, "weft.wasm.br": packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// pictureName is the name of the picture in the hosted page's folder.
const pictureName = "report.png"

// fill returns the page with a module in base64 or, if hosted, without one, so that the page fetches it. The frame with the
// report inherits the policy, which must therefore also allow the script and the style of reports.
func (p *pageParts) fill(module string, hosted bool) []byte {
	connect, pictures, promise := "", "data:", "the page is not allowed to connect to anything"
	picture := "data:image/png;base64," + base64.StdEncoding.EncodeToString(p.picture)
	if hosted {
		connect, pictures, promise = " connect-src 'self';", "'self' data:", "the page fetches weft from the server that it came from, and is not allowed to connect to any other"
		picture = pictureName
	}
	reportScript, reportStyle := reportpage.Hashes()
	policy := fmt.Sprintf("default-src 'none'; script-src '%s' '%s' 'wasm-unsafe-eval'; style-src '%s' '%s'; img-src %s; worker-src blob:;%s base-uri 'none'; form-action 'none'",
		hash(p.script), reportScript, hash(p.style), reportStyle, pictures, connect)
	return []byte(strings.NewReplacer("{{policy}}", html.EscapeString(policy), "{{promise}}", promise, "{{style}}", p.style, "{{script}}", p.script,
		"{{worker}}", p.worker, "{{module}}", module, "{{picture}}", picture, "{{examples}}", p.examples).Replace(p.html))
}

// hash returns the name of an inline script or style in a policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
