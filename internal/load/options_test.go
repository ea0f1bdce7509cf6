package load

import "testing"

// Empty strings become the defaults; unknown strings are rejected with a list of valid strings.
func TestOptionWords(t *testing.T) {
	var opts Options
	if err := opts.complete(); err != nil {
		t.Fatal(err)
	}
	if opts.From != FormatAuto || opts.JSCalls != JSCallsRefined {
		t.Errorf("the defaults are %q and %q", opts.From, opts.JSCalls)
	}
	for message, opts := range map[string]Options{
		`unknown format "x"; use auto, chrome-json, perfetto, cpuprofile, firefox, jsprofile, probes, otlp or har`: {From: "x"},
		`unknown compression "x"; use none, zlib or zstd`:                                                          {Compression: "x"},
		`unknown form of packets "x"; use plain or compact`:                                                        {Packets: "x"},
		`unknown form of samples "x"; use stack-sample or none`:                                                    {Samples: "x"},
		`unknown kind of calls "x"; use refined, devtools or off`:                                                  {JSCalls: "x"},
		`NoArgs and Args cannot be combined`:                                                                       {NoArgs: true, Args: []string{"url"}},
	} {
		if err := opts.Validate(); err == nil || err.Error() != message {
			t.Errorf("%v, want %s", err, message)
		}
	}
}

func TestKeptArgs(t *testing.T) {
	if keep := new(Options).argFilter(); !keep.KeepsAll() {
		t.Error("arguments are dropped")
	}
	for _, test := range []struct {
		opts Options
		want bool
	}{{Options{NoArgs: true}, false}, {Options{Args: []string{"x", "url"}}, true}, {Options{Args: []string{"x"}}, false}} {
		if keep := test.opts.argFilter(); keep.KeepsText("url") != test.want {
			t.Errorf("%+v keeps url: %v", test.opts, !test.want)
		}
	}
}
