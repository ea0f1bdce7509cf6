package find

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// The search ignores the case of letters in any script.
func TestLower(t *testing.T) {
	for _, text := range []string{"", "Style.CSS", "ÄRGER and Ärger", "aΣ"} {
		if got, want := string(lower([]byte("x"), []byte(text))), "x"+strings.ToLower(text); got != want {
			t.Errorf("%q becomes %q; want %q", text, got, want)
		}
	}
}

func TestRelate(t *testing.T) {
	hit := func(process timeline.TrackID, ts, dur timeline.Nanos, id, url string) Hit {
		return Hit{Kind: "slice", TS: ts, Dur: dur, process: process, id: id, url: url}
	}
	for name, test := range map[string]struct {
		hits []Hit
		want bool
	}{
		"same id":               {[]Hit{hit(1, 0, 9, "7", "u"), hit(2, 5, 9, "7", "u")}, true},
		"same id, other url":    {[]Hit{hit(1, 0, 9, "7", "u"), hit(2, 5, 9, "7", "v")}, true},
		"other id, same url":    {[]Hit{hit(1, 0, 9, "7", "u"), hit(2, 5, 9, "8", "u")}, false},
		"one without id":        {[]Hit{hit(1, 0, 9, "7", "u"), hit(2, 5, 9, "", "u")}, true},
		"never ends":            {[]Hit{hit(1, 0, timeline.NoTime, "", "u"), hit(2, 500, 9, "", "u")}, true},
		"one after the other":   {[]Hit{hit(1, 0, 4, "7", "u"), hit(2, 5, 9, "7", "u")}, false},
		"in one process":        {[]Hit{hit(1, 0, 9, "7", "u"), hit(1, 5, 9, "7", "u")}, false},
		"a short one in a long": {[]Hit{hit(1, 0, 90, "", "u"), hit(1, 1, 1, "", "u"), hit(2, 50, 9, "", "u")}, true},
	} {
		r := Result{Hits: test.hits}
		r.relate()
		first, last := &r.Hits[0], &r.Hits[len(r.Hits)-1]
		if len(first.SameRequest) != len(last.SameRequest) || (len(last.SameRequest) == 1 && last.SameRequest[0] == first) != test.want {
			t.Errorf("%s: related to %d and %d hits", name, len(first.SameRequest), len(last.SameRequest))
		}
	}
}

// The extract of a long text contains the wanted text, even if letters need fewer bytes in lower case.
func TestExtract(t *testing.T) {
	for _, before := range []string{"", "x", "İ", "Ⱥ", "\xff"} {
		f := finder{want: []byte("needle")}
		got := f.extract([]byte(strings.Repeat(before, 1500) + "Needle" + strings.Repeat("y", 2000)))
		if !strings.Contains(got, "Needle") || len(got) > maxText {
			t.Errorf("after %q: %d bytes without it", before, len(got))
		}
	}
}

func TestLongPath(t *testing.T) {
	f := finder{want: []byte("needle")}
	f.addWhere([]byte("args."+strings.Repeat("k", 5000)), []byte("needle"))
	if where := f.hit.Where[0]; len(where) != maxText || f.hit.Text != "needle" {
		t.Errorf("%d bytes of the path are kept, and %q", len(where), f.hit.Text)
	}
}

func TestIsURL(t *testing.T) {
	for text, want := range map[string]bool{
		"https://a.test/x": true, "chrome-ext://a": true, "chrome-extension://a": true, "chrome-extensions://a": false, "://a": false, "see https://a.test": false, "https://a.test b": false,
		"a=1;b=2;u=https://a.test": false, "https://" + strings.Repeat("x", maxText): false, "": false,
	} {
		if got := isURL([]byte(text)); got != want {
			t.Errorf("%.40q: %v", text, got)
		}
	}
}
