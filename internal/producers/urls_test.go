package producers

import "testing"

func TestSplitURL(t *testing.T) {
	for _, test := range []struct{ url, scheme, host, path string }{
		{"https://e.org/a/b.js?x=1#y", "https", "e.org", "/a/b.js"},
		{"http://e.org:8080", "http", "e.org:8080", ""},
		{"http://me:secret@e.org/@x/y", "http", "e.org", "/@x/y"},
		{"http://e.org?at=/a@b", "http", "e.org", ""},
		{"http://e.org#/a", "http", "e.org", ""},
		{"blob:http://e.org/1", "blob:http", "e.org", "/1"},
		{"file:///a/b", "file", "", "/a/b"},
		{"://x/", "", "x", "/"},
		{"http://", "http", "", ""},
		{"data:text/html,a", "", "", ""},
		{"http:/", "", "", ""},
		{"", "", "", ""},
	} {
		scheme, host, path := SplitURL(test.url)
		if scheme != test.scheme || host != test.host || path != test.path {
			t.Errorf("SplitURL(%q) = %q, %q, %q", test.url, scheme, host, path)
		}
		if s, h, p := SplitURL([]byte(test.url)); string(s) != scheme || string(h) != host || string(p) != path {
			t.Errorf("SplitURL([]byte(%q)) = %q, %q, %q", test.url, s, h, p)
		}
	}
}
