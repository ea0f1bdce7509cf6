package view

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/recording"
)

// Each system has its own way to open a page; $BROWSER comes first everywhere.
func TestBrowsers(t *testing.T) {
	for _, test := range []struct {
		goos string
		env  string
		want []string
	}{
		{"linux", "", nil},
		{"linux", "DISPLAY=:0", []string{"xdg-open"}},
		{"linux", "WAYLAND_DISPLAY=wayland-0", []string{"xdg-open"}},
		{"freebsd", "DISPLAY=:0", []string{"xdg-open"}},
		{"linux", "BROWSER=a -b  c:d", []string{"a -b c", "d"}},
		{"linux", "BROWSER=: :a DISPLAY=:0", []string{"a", "xdg-open"}},
		{"linux", "WSL_DISTRO_NAME=Debian DISPLAY=:0", []string{"wslview", "rundll32.exe url.dll,FileProtocolHandler"}},
		{"darwin", "", []string{"/usr/bin/open"}},
		{"windows", "", []string{"rundll32 url.dll,FileProtocolHandler"}},
		{"linux", "BROWSER=/home/u/.vscode-server/bin/helpers/browser.sh", nil}, // another machine cannot read a file
	} {
		getenv := func(name string) string {
			_, value, ok := strings.Cut(" "+test.env, " "+name+"=")
			for _, other := range []string{" DISPLAY=", " WAYLAND_DISPLAY=", " BROWSER="} {
				value, _, _ = strings.Cut(value, other)
			}
			if !ok {
				return ""
			}
			return value
		}
		if strings.Contains(test.env, ":a") && runtime.GOOS == "windows" {
			continue // list separators differ there
		}
		var got []string
		for _, b := range browsers(test.goos, getenv) {
			got = append(got, strings.Join(b.command, " "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %q, want %q", test.goos, test.env, got, test.want)
		}
	}
	for text, want := range map[string]string{"a": "a URL", "a --new %s -b": "a --new URL -b", "a --url=%s": "a --url=URL"} {
		if got := strings.Join(withName(strings.Fields(text), "URL"), " "); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// script writes a program that records its arguments and then runs the text.
func script(t *testing.T, name, text string) (program, noted string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	program, noted = filepath.Join(dir, name), filepath.Join(dir, "noted")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >"+noted+"\n"+text+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	return program, noted
}

// noDisplay leaves $BROWSER as the only way to open a page, on most systems.
func noDisplay(t *testing.T) {
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "WSL_INTEROP"} {
		t.Setenv(name, "")
	}
	t.Setenv("TMPDIR", t.TempDir())
}

// OpenBrowser tries programs until one does not fail. That program's command line, which other users can read, names a file
// that they cannot read, and that is removed once it has been used.
func TestOpenBrowser(t *testing.T) {
	noDisplay(t)
	s := startServer(t, Options{})
	fails, notedFails := script(t, "fails", "exit 3")
	works, notedWorks := script(t, "works", "exit 0")
	never, notedNever := script(t, "never", "exit 0")
	t.Setenv("BROWSER", strings.Join([]string{"/no/such/browser", fails + " -x", works + " --new-tab", never}, string(filepath.ListSeparator)))
	if err := s.OpenBrowser(); err != nil {
		t.Fatal(err)
	}
	var files []string
	for noted, before := range map[string]string{notedFails: "-x file://", notedWorks: "--new-tab file://", notedNever: ""} {
		got, _ := os.ReadFile(noted)
		file, ok := strings.CutPrefix(strings.TrimSpace(string(got)), before)
		if !ok || strings.Contains(string(got), "127.0.0.1") || noted == notedNever && file != "" {
			t.Errorf("%s is called with %q", noted, got)
		}
		if noted == notedWorks {
			files = append(files, file)
		} else if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is left of a program that failed", file)
		}
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, mode %v", err, info.Mode())
	}
	page, err := os.ReadFile(files[0])
	path := regexp.MustCompile(`content="0; url=` + s.base() + `(/go/[\w-]{22})"`).FindSubmatch(page)
	if err != nil || path == nil || strings.Contains(string(page), s.secret) {
		t.Fatalf("it contains %q, %v", page, err)
	}
	select {
	case <-s.Entered():
		t.Error("somebody has come")
	default:
	}
	if got := s.ask(t, "GET", string(path[1])); got.status != http.StatusSeeOther {
		t.Errorf("it leads to %d", got.status)
	}
	<-s.Entered()
	if _, err := os.Stat(files[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its use: %v", err)
	}

	if err := s.OpenBrowser(); err != nil { // no browser connects
		t.Fatal(err)
	}
	s.Close()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v is left when the server has ended, %v", left, err)
	}
	if err := s.OpenBrowser(); !errors.Is(err, ErrNoBrowser) {
		t.Errorf("after that: %v", err)
	}
}

// No files are left if no browser can be opened.
func TestNoBrowser(t *testing.T) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("it has another way, which would open one")
	}
	noDisplay(t)
	s := startServer(t, Options{})
	fails, _ := script(t, "fails", "exit 3")
	for _, browser := range []string{"", fails} {
		t.Setenv("BROWSER", browser)
		if err := s.OpenBrowser(); !errors.Is(err, ErrNoBrowser) {
			t.Errorf("error %v", err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}

// Browsers in snap packages can see neither the folder for temporary files nor hidden folders.
func TestFileForSnap(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("snap packages are of Linux")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", t.TempDir())
	for _, folder := range []string{os.TempDir(), home} {
		file, err := writePrivate("page")
		if err != nil || filepath.Dir(file) != folder || filepath.Base(file)[0] == '.' {
			t.Errorf("%s, %v; want it in %s", file, err, folder)
		}
		if err := os.MkdirAll(filepath.Join(home, "snap"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// File names take other forms in addresses and for Windows programs.
func TestFileNames(t *testing.T) {
	for file, want := range map[string]string{"/tmp/a b%.html": "file:///tmp/a%20b%25.html", "C:/a.html": "file:///C:/a.html"} {
		if got, err := fileURL(file); got != want || err != nil {
			t.Errorf("%s: %s, %v", file, got, err)
		}
	}
	if runtime.GOOS != "windows" {
		program, noted := script(t, "wslpath", "echo //wsl.localhost/a.html")
		t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
		if got, err := windowsPath("/tmp/a.html"); got != "//wsl.localhost/a.html" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got, _ := os.ReadFile(noted); string(got) != "-w /tmp/a.html\n" {
			t.Errorf("wslpath gets %q", got)
		}
	}
}

// A program that is still running after three seconds is taken for the browser.
func TestBrowserThatStays(t *testing.T) {
	recording.NeedAll(t, "it is waited for")
	stays, _ := script(t, "stays", "exec sleep 4")
	t.Setenv("BROWSER", stays)
	s := startServer(t, Options{})
	began := time.Now()
	if err := s.OpenBrowser(); err != nil || time.Since(began) < failsWithin {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
