package view

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/recording"
)

// Each system has its way to open an address; $BROWSER comes first everywhere.
func TestBrowserCommands(t *testing.T) {
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
			continue // lists have other separators there
		}
		var got []string
		for _, command := range browserCommands(test.goos, getenv) {
			got = append(got, strings.Join(command, " "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %q, want %q", test.goos, test.env, got, test.want)
		}
	}
	for text, want := range map[string]string{"a": "a URL", "a --new %s -b": "a --new URL -b", "a --url=%s": "a --url=URL"} {
		if got := strings.Join(withAddress(strings.Fields(text), "URL"), " "); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// script writes a program that notes what it was called with, and then does what the text says.
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

// The first program that does not fail has opened an address. It gets one that no other had: those are good once.
func TestOpenBrowser(t *testing.T) {
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "WSL_INTEROP"} {
		t.Setenv(name, "")
	}
	fails, notedFails := script(t, "fails", "exit 3")
	works, notedWorks := script(t, "works", "exit 0")
	never, notedNever := script(t, "never", "exit 0")
	t.Setenv("BROWSER", strings.Join([]string{"/no/such/browser", fails + " -x", works + " --new-tab", never}, string(filepath.ListSeparator)))
	n := 0
	address := func() string { n++; return fmt.Sprintf("http://127.0.0.1:1/go/%d", n) }
	if err := OpenBrowser(address); err != nil {
		t.Fatal(err)
	}
	for noted, want := range map[string]string{notedFails: "-x http://127.0.0.1:1/go/2\n", notedWorks: "--new-tab http://127.0.0.1:1/go/3\n", notedNever: ""} {
		if got, _ := os.ReadFile(noted); string(got) != want {
			t.Errorf("%s: %q, want %q", noted, got, want)
		}
	}
	if runtime.GOOS == "darwin" {
		return // it has another way, which would open one
	}
	t.Setenv("BROWSER", fails)
	if err := OpenBrowser(address); !errors.Is(err, ErrNoBrowser) {
		t.Errorf("error %v", err)
	}
	t.Setenv("BROWSER", "")
	if err := OpenBrowser(address); !errors.Is(err, ErrNoBrowser) {
		t.Errorf("error %v", err)
	}
}

// A program that still runs after three seconds is the browser.
func TestBrowserThatStays(t *testing.T) {
	recording.NeedAll(t, "it is waited for")
	stays, _ := script(t, "stays", "exec sleep 4")
	t.Setenv("BROWSER", stays)
	began := time.Now()
	if err := OpenBrowser(func() string { return "http://127.0.0.1:1/" }); err != nil || time.Since(began) < failsWithin {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
