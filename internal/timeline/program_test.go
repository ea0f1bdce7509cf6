package timeline

import (
	"strings"
	"testing"
)

func TestProgram(t *testing.T) {
	const options = " --crashpad-handler-pid=0 --enable-crash-reporter=,built on Debian GNU/Linux 12 (bookworm) --user-data-dir=/tmp/x/002 --lang=en-US"
	for name, want := range map[string]string{
		"/usr/lib/chromium/chromium --type=renderer" + options:                                           "chromium --type=renderer",
		"/usr/lib/chromium/chromium --type=renderer" + options + " 10699":                                "chromium --type=renderer 10699",
		"/usr/lib/chromium/chromium" + options + " --type=gpu [pid 7 of a]":                              "chromium --type=gpu [pid 7 of a]",
		"chrome --type=gpu-process --x (pid 0)":                                                          "chrome --type=gpu-process (pid 0)",
		"/opt/c/chrome --type=utility --utility-sub-type=network.mojom.NetworkService --lang=en":         "chrome --type=utility --utility-sub-type=network.mojom.NetworkService",
		`"C:\Program Files\Google\Chrome\Application\chrome.exe" --type=renderer --lang=de`:              "chrome.exe --type=renderer",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome Helper (Renderer) --type=renderer": "Google Chrome Helper (Renderer) --type=renderer",
		"/usr/bin/python3 /srv/train.py --epochs 3":                                                      "python3 train.py --epochs 3",
		// Everything except a command line with a path is unchanged.
		"Renderer 19760":                 "Renderer 19760",
		"node --inspect server.js":       "node --inspect server.js",
		"Isolated Web Content - /a/b":    "Isolated Web Content - /a/b",
		"GET /a/b --x":                   "GET /a/b --x",
		"/usr/lib/jvm/17/bin/java":       "/usr/lib/jvm/17/bin/java",
		"python (GPU 0) [pid 0]":         "python (GPU 0) [pid 0]",
		"":                               "",
		"/":                              "/",
		"/ -":                            " -",
		"--type=":                        "--type=",
		strings.Repeat("/ --type= ", 99): " --type=",
	} {
		if got := Program(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
