package convert

import (
	"slices"
	"testing"
)

// Words that are not given are the defaults; those that do not exist are refused with a list of those that do.
func TestOptionWords(t *testing.T) {
	var opts Options
	if err := opts.complete(); err != nil {
		t.Fatal(err)
	}
	want := Options{
		From: FormatAuto, Compress: CompressNone, Packets: PacketsPlain, Samples: SamplesStackSample, JSCalls: JSCallsRefined,
		ProfileBase: ProfileBaseTS,
	}
	got := []string{string(opts.From), string(opts.Compress), string(opts.Packets), string(opts.Samples), string(opts.JSCalls), string(opts.ProfileBase)}
	if !slices.Equal(got, []string{string(want.From), string(want.Compress), string(want.Packets), string(want.Samples), string(want.JSCalls), string(want.ProfileBase)}) {
		t.Errorf("the defaults are %q", got)
	}
	for message, opts := range map[string]Options{
		`unknown format "x"; use auto, chrome-json, perfetto, cpuprofile, firefox, jsprofile or probes`: {From: "x"},
		`unknown compression "x"; use none, zlib or zstd`:                                               {Compress: "x"},
		`unknown form "x"; use plain or compact`:                                                        {Packets: "x"},
		`unknown form "x"; use stack-sample, streaming-profile or none`:                                 {Samples: "x"},
		`unknown kind of calls "x"; use refined, devtools, separate or off`:                             {JSCalls: "x"},
		`unknown begin of profiles "x"; use ts or startTime`:                                            {ProfileBase: "x"},
		`of arguments either none or some are kept`:                                                     {NoArgs: true, Args: []string{"url"}},
	} {
		if err := opts.Validate(); err == nil || err.Error() != message {
			t.Errorf("%v, want %s", err, message)
		}
	}
}

func TestKeptArgs(t *testing.T) {
	if keep := new(Options).keepArg(); keep != nil {
		t.Error("a function for all arguments")
	}
	for _, test := range []struct {
		opts Options
		want bool
	}{{Options{NoArgs: true}, false}, {Options{Args: []string{"x", "url"}}, true}, {Options{Args: []string{"x"}}, false}} {
		if got := test.opts.keepArg()([]byte("url")); got != test.want {
			t.Errorf("%+v keeps url: %v", test.opts, got)
		}
	}
}
