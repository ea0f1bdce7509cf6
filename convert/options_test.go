package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/pfwire"
)

func TestFormatNames(t *testing.T) {
	for f := range formats {
		got, err := ParseFormat(Format(f).String())
		if err != nil || got != Format(f) {
			t.Errorf("ParseFormat(%q) = %v, %v", Format(f), got, err)
		}
		var back Format
		text, err := Format(f).MarshalText()
		if err != nil || back.UnmarshalText(text) != nil || back != Format(f) {
			t.Errorf("%q comes back as %v", text, back)
		}
	}
	if _, err := ParseFormat("word"); err == nil || !strings.HasPrefix(err.Error(), `unknown format "word"; use auto, chrome-json, `) {
		t.Errorf("ParseFormat: %v", err)
	}
	if f := Format(200); f.String() != "Format(200)" {
		t.Errorf("%v", f)
	}
}

func TestCompressionNames(t *testing.T) {
	for c := range compressions {
		if got, err := ParseCompression(Compression(c).String()); err != nil || got != Compression(c) {
			t.Errorf("ParseCompression(%q) = %v, %v", Compression(c), got, err)
		}
	}
	if got := Compression(9).String(); got != "Compression(9)" {
		t.Errorf("%q", got)
	}
}

func TestSampleForms(t *testing.T) {
	for s := range sampleForms {
		got, err := ParseSamples(Samples(s).String())
		if err != nil || got != Samples(s) {
			t.Errorf("ParseSamples(%q) = %v, %v", Samples(s), got, err)
		}
		if want, err := pfwire.ParseSampleForm(sampleForms[s]); err != nil || Samples(s).form() != want {
			t.Errorf("%v is written in form %d, want %d", Samples(s), Samples(s).form(), want)
		}
	}
	if _, err := ParseSamples("all"); err == nil || Samples(9).String() != "Samples(9)" {
		t.Errorf("%v, %v", err, Samples(9))
	}
}

func TestArgsFilter(t *testing.T) {
	for text, want := range map[string]string{
		"all": "all", "none": "none", "url": "url", "url,n,url": "n,url",
	} {
		f, err := ParseArgsFilter(text)
		if err != nil || f.String() != want {
			t.Errorf("ParseArgsFilter(%q) = %v, %v; want %s", text, f, err, want)
		}
	}
	for _, text := range []string{"", "a,", ",a", "a,,b"} {
		if f, err := ParseArgsFilter(text); err == nil {
			t.Errorf("ParseArgsFilter(%q) = %v; want an error", text, f)
		}
	}
	if keep := AllArgs().keep(); keep != nil {
		t.Error("a function for all arguments")
	}
	for _, test := range []struct {
		filter ArgsFilter
		want   bool
	}{{NoArgs(), false}, {OnlyArgs("x", "url"), true}, {OnlyArgs("x"), false}} {
		if got := test.filter.keep()([]byte("url")); got != test.want {
			t.Errorf("%v keeps url: %v", test.filter, got)
		}
	}
}

func TestPlural(t *testing.T) {
	if got := fmt.Sprint(plural(1, "box", "boxes"), " ", plural(0, "box", "boxes")); got != "1 box 0 boxes" {
		t.Error(got)
	}
}
