package publicsuffix

import (
	"strings"
	"testing"

	original "golang.org/x/net/publicsuffix"
)

// The copy is from the version of x/net that this module uses, and gives the same results for every rule.
func TestSameAsOriginal(t *testing.T) {
	if Version != original.List.String() {
		t.Fatalf("the table is of %s, and that of x/net is of %s: copy it, as the package comment says", Version, original.List)
	}
	rules := 0
	eachName(0, numTLD, "", func(name string) {
		rules++
		for _, domain := range []string{name, "a." + name, "b.a." + name, strings.ToUpper(name), name + "."} {
			got, gotErr := EffectiveTLDPlusOne(domain)
			want, wantErr := original.EffectiveTLDPlusOne(domain)
			if got != want || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%s: %s, %v; want %s, %v", domain, got, gotErr, want, wantErr)
			}
		}
	})
	if rules < 9000 {
		t.Errorf("only %d names", rules)
	}
	for domain, want := range map[string]string{
		"www.books.amazon.co.uk": "amazon.co.uk", "a.github.io": "a.github.io", "x.example.com": "example.com", "localhost": "", "": "", ".": "", "a..b": "", "127.0.0.1": "",
	} {
		if got, _ := EffectiveTLDPlusOne(domain); got != want {
			t.Errorf("%s: %q, want %q", domain, got, want)
		}
	}
}

// eachName calls fn for the names of the nodes in a range and of their descendants.
func eachName(lo, hi uint32, above string, fn func(name string)) {
	for i := lo; i < hi; i++ {
		name := nodeLabel(i) + above
		fn(name)
		u := children.get(uint32(nodes.get(i)>>(nodesBitsTextOffset+nodesBitsTextLength+nodesBitsICANN)) & (1<<nodesBitsChildren - 1))
		eachName(u&(1<<childrenBitsLo-1), u>>childrenBitsLo&(1<<childrenBitsHi-1), "."+name, fn)
	}
}
