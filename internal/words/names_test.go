package words

import (
	"strings"
	"testing"
)

func TestInstead(t *testing.T) {
	formats := []string{"auto", "chrome-json", "perfetto", "firefox", "cpuprofile", "js-self-profiling"}
	reports := []string{"samples", "gc", "layout-thrashing", "cost"}
	for _, c := range []struct {
		asked string
		names []string
		want  string
	}{
		{"perfeto", formats, "; did you mean perfetto?"},
		{"Firefox", formats, "; did you mean firefox?"},
		{"chrome_json", formats, "; did you mean chrome-json?"},
		{"chrome", formats, "; did you mean chrome-json?"},
		{"cpuprofiel", formats, "; did you mean cpuprofile?"},
		{"layout", reports, "; did you mean layout-thrashing?"},
		{"sample", reports, "; did you mean samples?"},
		{"typ", []string{"tmp", "by", "type"}, "; did you mean type?"},
		{"cots", reports, "; did you mean cost?"},
		{"pprof", reports, "; use samples, gc, layout-thrashing or cost"},
		{"gd", reports, "; use samples, gc, layout-thrashing or cost"}, // two letters are similar to everything
		{"", reports, "; use samples, gc, layout-thrashing or cost"},
		{"costcost", reports, "; use samples, gc, layout-thrashing or cost"},
		{strings.Repeat("samples", 10_000), reports, "; use samples, gc, layout-thrashing or cost"},
		{"über", []string{"uber", "unter"}, "; did you mean uber?"},
		{"x", []string{"only"}, "; use only"},
	} {
		if got := Instead(c.asked, c.names); got != c.want {
			t.Errorf("%.20q: %q, want %q", c.asked, got, c.want)
		}
	}
	if got := Unknown("format", "perfeto", formats).Error(); got != `unknown format "perfeto"; did you mean perfetto?` {
		t.Error(got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "ca", 3}, {"quite", "quiet", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
