package view

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// ErrNoBrowser is returned by OpenBrowser if no program could open the page.
var ErrNoBrowser = errors.New("no browser could be opened")

// failsWithin is how long OpenBrowser waits for a program to fail. A program that is still running after this time is assumed
// to have opened the page; it may be the browser itself.
const failsWithin = 3 * time.Second

// OpenBrowser opens Address in the user's browser and returns once that has succeeded, which may take three seconds. Each
// program that it tries gets its own file that leads to Address, because a program that fails may have used up the address. The
// browser keeps running when this program ends.
func (s *Server) OpenBrowser() error {
	for _, b := range browsers(runtime.GOOS, os.Getenv) {
		address, file, err := s.onceAddress()
		if err != nil {
			return errors.Join(ErrNoBrowser, err)
		}
		if name, err := b.name(file); err == nil && opens(withName(b.command, name)) {
			return nil
		}
		s.useOnce(strings.TrimPrefix(address, s.base()+oncePath))
	}
	return ErrNoBrowser
}

// redirection returns a page that redirects to an address, which must not need escaping in HTML.
func redirection(address string) string {
	return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=` + address +
		`"><title>weft view</title><p><a href="` + address + `">weft view</a></p>` + "\n"
}

// writePrivate writes a page into a new file that only the user and browsers can read.
func writePrivate(page string) (name string, err error) {
	folder := "" // the system's folder for temporary files
	if home, err := os.UserHomeDir(); err == nil && runtime.GOOS == "linux" {
		if _, err := os.Stat(filepath.Join(home, "snap")); err == nil {
			folder = home // browsers in snap packages have their own temporary folder, and cannot see hidden folders
		}
	}
	f, err := os.CreateTemp(folder, "weft-view-*.html") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(page)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// A browser is a command that opens a page, with the form of file names that it expects. Names must not contain characters
// that are special to a shell or a URL handler.
type browser struct {
	command []string
	name    func(file string) (string, error)
}

// withName adds a name to a command: in place of %s, as is usual in $BROWSER, or at the end.
func withName(command []string, name string) []string {
	text := strings.Join(command, "\x00")
	if strings.Contains(text, "%s") {
		return strings.Split(strings.ReplaceAll(text, "%s", name), "\x00")
	}
	return append(command, name)
}

// browsers returns the commands that open a page, in order of preference.
func browsers(goos string, getenv func(string) string) (found []browser) {
	add := func(name func(string) (string, error), command ...string) {
		found = append(found, browser{command, name})
	}
	for _, choice := range filepath.SplitList(getenv("BROWSER")) {
		words := strings.Fields(choice)
		if len(words) == 0 || strings.HasSuffix(words[0], "/bin/helpers/browser.sh") { // VS Code's helper opens pages on another machine
			continue
		}
		add(fileURL, words...)
	}
	switch {
	case goos == "windows": // cmd /c start interprets & and ^, explorer.exe opens a folder
		add(filePath, "rundll32", "url.dll,FileProtocolHandler")
	case goos == "darwin":
		add(filePath, "/usr/bin/open")
	case getenv("WSL_DISTRO_NAME") != "" || getenv("WSL_INTEROP") != "":
		add(filePath, "wslview")
		add(windowsPath, "rundll32.exe", "url.dll,FileProtocolHandler")
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		add(fileURL, "xdg-open")
	}
	return found
}

func filePath(file string) (string, error) { return file, nil }

func fileURL(file string) (string, error) {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}

// windowsPath returns the Windows path of a file in WSL.
func windowsPath(file string) (string, error) {
	name, err := exec.Command("wslpath", "-w", file).Output()
	return strings.TrimSpace(string(name)), err
}

// opens runs a command and reports whether it succeeds or is still running after failsWithin.
func opens(command []string) bool {
	cmd := exec.Command(command[0], command[1:]...)
	detach(cmd)
	if cmd.Start() != nil {
		return false
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err == nil
	case <-time.After(failsWithin):
		return true
	}
}
