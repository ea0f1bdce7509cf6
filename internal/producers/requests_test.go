package producers

import (
	"strings"
	"testing"
)

// Request names contain the file and the host, but no queries, users or ids.
func TestRequestName(t *testing.T) {
	long := strings.Repeat("x", 600)
	for _, c := range []struct{ method, url, want string }{
		{"GET", "http://adadvisor.net/adscores/g.js?sid=9212", "g.js · adadvisor.net"},
		{"POST", "https://user:pw@e.org:8080/v1/api/cart#top", "POST api/cart · e.org:8080"},
		{"", "https://e.org/api/seq/15", "seq/15 · e.org"},
		{"GET", "https://e.org/seq/", "seq/ · e.org"},
		{"GET", "https://e.org/a.b/seq/?x=/y.js", "a.b/seq/ · e.org"},
		{"GET", "https://e.org/15", "15 · e.org"},
		{"GET", "https://e.org/", "e.org"},
		{"GET", "https://e.org?q", "e.org"},
		{"GET", "https://e.org//", "/ · e.org"},
		{"GET", "https://[::1]:80/a.js", "a.js · [::1]:80"},
		{"GET", "wss://e.org/socket", "socket · e.org"},
		{"GET", "data:image/png;base64,AAAA", "data:image/png"},
		{"GET", "data:,A", "data:"},
		{"GET", "DATA:text/html;x", "data:text/html"},
		{"GET", "data:secret", "data:"},
		{"GET", "https://e.org/proxy/https://me:secret@cdn.org/x", "cdn.org/x · e.org"},
		{"POST", "//me:secret@e.org/a/b", "POST e.org/a/b"},
		{long, "https://e.org/a.js", long[:512]},
		{"GET", "about:blank#x", "about:blank"},
		{"GET", "file:///home/a/b.html", "file:///home/a/b.html"},
		{"OPTIONS", "", "OPTIONS"},
		{"", "", ""},
		{"GET", "https://e.org/" + long, long[:512]},
		{"GET", "https://e.org/" + long[:511] + "·", long[:511]},
	} {
		if got := string(AppendRequestName(nil, []byte(c.method), []byte(c.url))); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.url, got, c.want)
		}
	}
}
