package view

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// ErrNoBrowser is the error of OpenBrowser if there is no program that opens addresses, or none did.
var ErrNoBrowser = errors.New("no browser could be opened")

// failsWithin is how long a program that opens an address has to fail. One that still runs then has opened it, and may be the browser.
const failsWithin = 3 * time.Second

// OpenBrowser opens an address in the user's browser and returns when that has worked, which may take three seconds. Each program that is
// tried gets an address of its own, because one that fails may have used its up. Addresses must have no characters that mean something to
// a shell or to a URL handler. The browser lives on when this program ends.
func OpenBrowser(address func() string) error {
	for _, command := range browserCommands(runtime.GOOS, os.Getenv) {
		if opens(withAddress(command, address())) {
			return nil
		}
	}
	return ErrNoBrowser
}

// withAddress puts the address into a command: where it has %s, as is usual in $BROWSER, or after it.
func withAddress(command []string, address string) []string {
	text := strings.Join(command, "\x00")
	if strings.Contains(text, "%s") {
		return strings.Split(strings.ReplaceAll(text, "%s", address), "\x00")
	}
	return append(command, address)
}

// browserCommands returns the commands that open an address, the first choice first.
func browserCommands(goos string, getenv func(string) string) (commands [][]string) {
	for _, choice := range filepath.SplitList(getenv("BROWSER")) { // VS Code puts a program there that forwards the port
		if words := strings.Fields(choice); len(words) > 0 {
			commands = append(commands, words)
		}
	}
	switch {
	case goos == "windows": // cmd /c start would take & and ^ apart, explorer.exe opens a folder
		commands = append(commands, []string{"rundll32", "url.dll,FileProtocolHandler"})
	case goos == "darwin":
		commands = append(commands, []string{"/usr/bin/open"})
	case getenv("WSL_DISTRO_NAME") != "" || getenv("WSL_INTEROP") != "":
		commands = append(commands, []string{"wslview"}, []string{"rundll32.exe", "url.dll,FileProtocolHandler"})
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		commands = append(commands, []string{"xdg-open"})
	}
	return commands
}

// opens runs a command and reports whether it did not fail in time.
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
