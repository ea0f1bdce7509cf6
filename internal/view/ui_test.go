package view

import (
	"archive/zip"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Addresses that could mean something in a header or a link are refused.
func TestUIAddresses(t *testing.T) {
	for where, want := range map[string][2]string{
		"https://ui.perfetto.dev":               {"https://ui.perfetto.dev/", "https://ui.perfetto.dev"},
		"https://ui.perfetto.dev/":              {"https://ui.perfetto.dev/", "https://ui.perfetto.dev"},
		"https://UI.perfetto.dev/v58.2-0123abc": {"https://ui.perfetto.dev/v58.2-0123abc/", "https://ui.perfetto.dev"},
		"http://localhost:10000":                {"http://localhost:10000/", "http://localhost:10000"},
		"http://[::1]:10000/ui/":                {"http://[::1]:10000/ui/", "http://[::1]:10000"},
	} {
		ui := openUI(t, where)
		if ui.address != want[0] || ui.origin != want[1] {
			t.Errorf("%s: address %s, origin %s", where, ui.address, ui.origin)
		}
	}
	for _, where := range []string{
		"https://", "ftp://ui.perfetto.dev", "file:///tmp/ui", "javascript://x", "https://a b", "https://user@ui.perfetto.dev", "https://ui.perfetto.dev?a", "https://ui.perfetto.dev/?",
		"https://ui.perfetto.dev/#!/", "https://x;script-src *", "https://x 'unsafe-inline'", "https://*", "https://*.perfetto.dev", "https://a,b", "https://ui.perfetto.dev/a%20b",
		"https://ui.perfetto.dev/\r\nX: y", "https://ui.perfetto.dev:x",
	} {
		if ui, err := OpenUI(where); err == nil {
			t.Errorf("%q: address %q, origin %q", where, ui.address, ui.origin)
		}
	}
}

// uiFilesOf are files like those in a release: an inline script, a script file, and folders.
var uiFilesOf = map[string]string{
	"index.html":            "<!doctype html><script src=\"a.js\"></script><SCRIPT type='text/javascript'>\r\nlet a = '<b>';\r\n</SCRIPT ><script>b</script>",
	"v58/frontend.js":       "alert()",
	"v58/engine.wasm":       "\x00asm",
	"v58/assets/brand.png":  "png",
	"v58/assets/.hidden":    "hidden",
	"service_worker.js":     "sw",
	"v58/assets/data.weird": "weird",
}

func writeFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range uiFilesOf {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeArchive(t *testing.T, more ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "perfetto-ui.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	add := func(name, content string) {
		m, err := w.Create(name)
		if err == nil && content != "" {
			_, err = m.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range uiFilesOf {
		add(name, content)
	}
	for _, name := range more {
		content := "more"
		if strings.HasSuffix(name, "/") {
			content = ""
		}
		add(name, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// Rule 8: a UI from files has another origin, may run its own scripts and talk to no one else; and only its files are served.
func TestUIFiles(t *testing.T) {
	folder := writeFolder(t)
	secret := filepath.Join(filepath.Dir(folder), "outside")
	if err := os.WriteFile(secret, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{secret, "link"}, {"/", "root"}, {"../outside", "v58/up"}} {
		if err := os.Symlink(link[0], filepath.Join(folder, link[1])); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	for what, where := range map[string]string{"folder": folder, "archive": writeArchive(t, "../up", "/abs", "a/../b", "dir/", "v58//double")} {
		t.Run(what, func(t *testing.T) {
			s := startServer(t, Options{UI: openUI(t, where)})
			ports := s.Ports()
			if len(ports) != 2 || ports[0] == ports[1] {
				t.Fatalf("ports %v", ports)
			}
			port := ports[1]
			for name, content := range uiFilesOf {
				if got := askAt(t, port, "GET", "/"+name); got.status != http.StatusOK || got.body != content {
					t.Errorf("%s: %d %q", name, got.status, got.body)
				}
			}
			for name, want := range map[string]string{
				"": "text/html; charset=utf-8", "v58/frontend.js": "text/javascript; charset=utf-8", "v58/engine.wasm": "application/wasm", "v58/assets/data.weird": "application/octet-stream",
			} {
				got := askAt(t, port, "HEAD", "/"+name)
				if got.header.Get("Content-Type") != want || got.body != "" || got.header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%s: %+v", name, got)
				}
			}
			for _, path := range []string{
				"/v58", "/v58/", "/v58/assets", "/v58/assets/", "/index.html/", "/../outside", "/v58/../../outside", "/%2e%2e/outside", "/..%2foutside", "/link", "/root/etc/passwd", "/v58/up",
				"/up", "//abs", "/abs", "/b", "/a/../b", "/dir", "/dir/", "/v58//double", "/v58/../index.html", "/./index.html", "//index.html", "/INDEX.html", "/C:/x", "/nul", "/status",
				"/" + s.secret + "/",
			} {
				if got := askAt(t, port, "GET", path); got.status != http.StatusNotFound || got.body != "" {
					t.Errorf("GET %s: %d %q", path, got.status, got.body)
				}
			}
			if got := askAt(t, port, "POST", "/index.html"); got.status != http.StatusMethodNotAllowed || got.body != "" {
				t.Errorf("POST: %+v", got)
			}
			if got := askAt(t, port, "POST", "/status"); got.status != http.StatusNotFound {
				t.Errorf("POST /status: %+v", got)
			}
			if got := askAt(t, port, "GET", "/", "Host: evil.test"); got.status != http.StatusForbidden || got.body != "" {
				t.Errorf("Host: %+v", got)
			}
			inline := cspHash([]byte("\nlet a = '<b>';\n")) + " " + cspHash([]byte("b"))
			want := "default-src 'self'; script-src 'self' 'unsafe-eval' " + inline + "; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
				"connect-src 'self' data: blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'"
			got := askAt(t, port, "GET", "/")
			if policy := got.header.Get("Content-Security-Policy"); policy != want {
				t.Errorf("the policy is\n%s\nwant\n%s", policy, want)
			}
			page := s.ask(t, "GET", s.path(""))
			if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "; frame-src "+s.opts.UI.origin+" 'self';") {
				t.Errorf("the page has the policy %s", policy)
			}
		})
	}
}

// A UI from files that fetches the trace itself may also connect to the server, but to no other.
func TestDirectUIFiles(t *testing.T) {
	s := startServer(t, Options{UI: openUI(t, writeFolder(t)), Direct: true})
	policy := askAt(t, s.Ports()[1], "GET", "/").header.Get("Content-Security-Policy")
	if want := "; connect-src 'self' " + s.base() + " data: blob:; "; !strings.Contains(policy, want) || strings.Count(policy, "http:") != 1 {
		t.Errorf("the policy is %s", policy)
	}
	s.ready()
	got := s.ask(t, "GET", s.path(directName), "Origin: "+s.opts.UI.origin)
	if got.status != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") != s.opts.UI.origin {
		t.Errorf("%d %v", got.status, got.header)
	}
}

// Anything other than the UI is rejected, and the error names what is expected.
func TestNotAUI(t *testing.T) {
	empty := t.TempDir()
	text := filepath.Join(empty, "text")
	if err := os.WriteFile(text, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{
		filepath.Join(empty, "missing"): "no such file",
		empty:                           "has no index.html",
		text:                            "nor a zip archive",
	} {
		if _, err := OpenUI(where); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
}
