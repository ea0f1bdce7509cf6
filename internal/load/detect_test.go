package load

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func TestDetect(t *testing.T) {
	long := strings.Repeat(`{"a":[1,"}]\"",{"traceEvents":0}]},`, 10_000)
	tests := []struct {
		name, input string
		want        Format
	}{
		{"array", `[{"ph":"X"}]`, FormatChromeJSON},
		{"array_empty", `[]`, FormatChromeJSON},
		{"array_only_bracket", `[`, FormatChromeJSON},
		{"array_after_bom", "\xEF\xBB\xBF [", FormatChromeJSON},
		{"array_after_line_feed", "\n[{}]", FormatChromeJSON},
		{"object", `{"traceEvents":[`, FormatChromeJSON},
		{"object_after_line_feed", "\n{\n\"traceEvents\":[", FormatChromeJSON},
		{"object_after_bom_and_space", "\xEF\xBB\xBF\r\n\t {\"traceEvents\":null", FormatChromeJSON},
		{"trace_events_last", `{"metadata":[` + long + `1],"samples":{},"traceEvents":[]}`, FormatChromeJSON},
		{"trace_events_with_samples_and_stacks", `{"stackFrames":{},"samples":[],"traceEvents":[]}`, FormatChromeJSON},
		{"names_in_strings_do_not_count", `{"x":"\"traceEvents\":","y\\":"traceEvents","nodes":[],"startTime":1}`, FormatCPUProfile},
		{"firefox", `{"meta":{"traceEvents":1},"libs":[],"threads":[`, FormatFirefox},
		{"firefox_tables_before_threads", `{"meta":{},"libs":[],"pages":[],"shared":{"stackTable":{"frame":[0,1`, FormatFirefox},
		{"firefox_shared_first", `{"shared":{},"meta":{"interval":1`, FormatFirefox},
		{"firefox_threads_first", `{"threads":[{"meta":1}],"pages":[],"meta":{`, FormatFirefox},
		{"firefox_wrapped", `{"profile":{"meta":{},"threads":[`, FormatFirefox},
		{"firefox_jslb", "\xDC\xDF\x4AS\x4CB\x01\x00\x01\x00\x00\x00", FormatFirefox},
		{"cpuprofile", `{"nodes":[{"id":1}],"startTime":1,"endTime":2}`, FormatCPUProfile},
		{"cpuprofile_deltas", `{"timeDeltas":[0],"samples":[1],"nodes":[`, FormatCPUProfile},
		{"cpuprofile_wrapped", `{"profile":{"nodes":[],"startTime":1}}`, FormatCPUProfile},
		{"cpuprofile_old", `{"head":{"functionName":"(root)"},"startTime":1.5,"endTime":2.5}`, FormatCPUProfile},
		{"cpuprofile_cut", `{"nodes":[{"id":1,"chil`, FormatCPUProfile},
		{"jsprofile_cut", `{"frames":[],"resources":[],"samples":[{`, FormatJSProfile},
		{"jsprofile", `{"frames":[],"resources":[],"samples":[],"stacks":[]}`, FormatJSProfile},
		{"jsprofile_samples_first", `{"samples":[{"timestamp":1}],"stacks":[{"frameId":0}],"resources":[],"frames":[]}`, FormatJSProfile},
		{"jsprofile_without_resources", `{"frames":[{}],"stacks":[{"parentId":1,"frameId":0}],"samples":[{"timestamp":1}]}`, FormatJSProfile},
		{"jsprofile_without_frames", `{"stacks":[{"frameId":0}],"samples":[{"timestamp":1}]}`, FormatJSProfile},
		{"jsprofile_without_stacks", `{"resources":["a"],"frames":[{}],"samples":[{"timestamp":1},{"timestamp":2,"stackId":0}]}`, FormatJSProfile},
		{"jsprofile_samples_only", `{"trace":{"samples":[{"stackId":0,"timestamp":1}]},"b":2}`, FormatJSProfile},
		{"jsprofile_array_without_stacks", `[{"frames":[{}],"samples":[{"timestamp":2,"stackId":0}]}]`, FormatJSProfile},
		{"trace_events_behind_samples", `{"samples":[{"timestamp":2,"stackId":0}],"traceEvents":[]}`, FormatChromeJSON},
		{"jsprofile_cut_in_samples", `{"frames":[],"samples":[{"timestamp":1},{"time`, FormatJSProfile},
		{"jsprofile_merged", `{"service":{"frames":1},"samples":[],"views":[{"stacks":1}],"stacks":[],"resources":[],"frames":[]}`, FormatJSProfile},
		{"jsprofile_wrapped_without_resources", `{"a":1,"trace":{"frames":[],"samples":[{"timestamp":1}],"stacks":[{"frameId":0}]},"b":2}`, FormatJSProfile},
		{"jsprofile_array", ` [ {"frames":[],"resources":[],"samples":[],"stacks":[]}]`, FormatJSProfile},
		{"jsprofile_array_wrapped", `[{"trace":{"samples":[{"timestamp":1}],"stacks":[{"frameId":0}],"frames":[]}},{}]`, FormatJSProfile},
		{"jsprofile_array_cut", `[{"frames":[],"samples":[{"timestamp":1`, FormatJSProfile},
		{"jsprofile_lines", `{"frames":[],"resources":[],"samples":[],"stacks":[]}` + "\n" + `{}`, FormatJSProfile},
		{"array_of_events_with_stacks", `[{"args":{"frames":[],"resources":[],"samples":[],"stacks":[]},"ph":"X"}]`, FormatChromeJSON},
		{"array_of_events_like_profiles", `[{"frames":[],"ph":"X","resources":[],"samples":[],"stacks":[]}]`, FormatChromeJSON},
		{"array_of_arrays", `[[{"frames":[],"resources":[],"samples":[],"stacks":[]}]]`, FormatChromeJSON},
		{"jsprofile_wrapped", `{"trace":{"frames":[],"resources":[],"samples":[],"stacks":[]}}`, FormatJSProfile},
		{"probes", "#probelines 1\n", FormatProbes},
		{"har", `{"log":{"version":"1.2","creator":{"entries":1},"pages":[],"entries":[]}}`, FormatHAR},
		{"har_behind_others", `{"a":{"entries":[]},"log":{"entries":[]}}`, FormatHAR},
		{"otlp", `{"resourceSpans":[]}`, FormatOTLP},
		{"otlp_snake_case", `{"resource_spans":[{"resource":{}}]}`, FormatOTLP},
		{"otlp_line_of_metrics", `{"resourceMetrics":[]}` + "\n" + `{"resourceSpans":[]}`, FormatOTLP},
		{"otlp_array", `[{"resourceSpans":[]}]`, FormatOTLP},
		{"otlp_tempo", `{"batches":[{"resource":{},"instrumentationLibrarySpans":[]}]}`, FormatOTLP},
		{"otlp_jaeger_result", `{"result":{"resourceSpans":[]}}`, FormatOTLP},
		{"otlp_tempo_wrapped", `{"trace":{"resourceSpans":[]}}`, FormatOTLP},
		{"otlp_protobuf", "\x0a\x0c\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01v", FormatOTLP},
		{"otlp_span_of_unknown_resource", "\x0a\x16\x12\x14\x12\x12\x0a\x100123456789abcdef", FormatOTLP},
		{"otlp_frames", "\x00\x00\x00\x0e\x0a\x0c\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01v", FormatOTLP},
		{"otlp_varint", "\x0e\x0a\x0c\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01v", FormatOTLP},
		{"perfetto_process_tree", "\x0a\x0a\x12\x08\x0a\x06\x08\x01\x1a\x02ab", FormatPerfetto},
		{"probes_line", "\r\nP1\t1\t2\t3\t0\tp:n\n", FormatProbes},
		{"probes_behind_talk", "Attaching 3 probes...\n\n#clock boottime\nP1\t1\t2\t3\t0\tp:n\n", FormatProbes},
		{"probes_after_new_line", "\n#probelines 1\n", FormatProbes},
		{"probes_with_bom", "\xEF\xBB\xBF#probelines 1\n", FormatProbes},
		{"probes_dtrace", "CPU     ID                    FUNCTION:NAME\n  0      1                           :BEGIN #probelines 1\n", FormatProbes},
		{"probes_dtrace_record", "  1   3976 void ns::f(int, char*):layout-end P1\t3000\t1815\t1\t0\tp:layout-end\n", FormatProbes},
		{"probes_bpftrace", `{"type": "attached_probes", "data": {"probes": 2}}` + "\n" + `{"type": "printf", "data": "#clock boottime\n#probelines 1\n"}` + "\n", FormatProbes},
		{"probes_bpftrace_record", `{"type": "printf", "data": "P1\t1\t2\t3\t0\tp:n\n"}`, FormatProbes},
		{"probes_bpftrace_tuple", `{"type": "value", "data": ["P1", 1, 2, 3, 0, "p:n"]}`, FormatProbes},
		{"chrome_with_probe_text", `{"traceEvents":[` + "\n" + `{"name":"#probelines 1","ph":"i","ts":1,"pid":1,"tid":1,"args":{"type":"printf","data":"P1\t1"}}]}`, FormatChromeJSON},
		{"chrome_lines_like_bpftrace", "[\n" + `{"ph":"i","ts":1,"pid":1,"tid":1,"args":{"type":"printf","data":"P1\t"}},` + "\n]", FormatChromeJSON},
		{"perfetto", "\x0A\x05\x50\x01\x82\x01\x00", FormatPerfetto},
		{"perfetto_123_bytes", "\x0A{\x50\x01\x82\x01\x00", FormatPerfetto},
		{"perfetto_91_bytes", "\x0A[\x50\x01", FormatPerfetto},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, reader := range map[string]io.Reader{
				"whole": strings.NewReader(test.input),
				"bytes": iotest.OneByteReader(strings.NewReader(test.input)),
			} {
				in := newReplay(reader, 100, t.TempDir())
				defer in.Close()
				got, err := detect(in)
				if err != nil || got != test.want {
					t.Errorf("%s: detect = %v, %v; want %v", name, got, err, test.want)
				}
				if all, err := io.ReadAll(in); err != nil || string(all) != test.input {
					t.Errorf("%s: replay gave %d bytes, %v; want %d", name, len(all), err, len(test.input))
				}
			}
		})
	}
}

func TestDetectRefuses(t *testing.T) {
	tests := []struct{ name, input, message string }{
		{"empty", "", "unknown format: the input is empty"},
		{"white_space", " \n\t", "white space"},
		{"object_empty", "{}", "unknown format: a JSON object without members; a Chrome trace has traceEvents"},
		{"object_other", `{"name":"x","private":{"traceEvents":[]}}`, `with the members "name", "private"`},
		{"sentry", `{"profile":{"frames":[{"function":"a"}],"stacks":[[0]],"samples":[{"stack_id":0,"thread_id":"0","timestamp":1.5}]}}`, `with the members "profile"`},
		{"frames_only", `{"frames":[{}],"stacks":[{"frameId":0}]}`, `with the members "frames", "stacks"`},
		{"samples_without_stacks", `{"samples":[{"timestamp":1.5}],"frames":[]}`, `with the members "samples", "frames"; if these are the samples of a JS self-profile without its other lists, the format jsprofile reads them`},
		{"bpftrace_without_probes", `{"type": "attached_probes", "data": {"probes": 2}}` + "\n", `with the members "type", "data"; if this is output of bpftrace, its script has to print probe lines`},
		{"probes_too_late", strings.Repeat("x\n", 40_000) + "#probelines 1\n", "it begins with"},
		{"object_cut", `{"metadata":{"a":`, `with the members "metadata"`},
		{"jaeger_json", `{"data":[{"traceID":"abc","spans":[],"processes":{}}],"total":0}`, "if this is Jaeger's own JSON"},
		{"result_of_a_profile", `{"result":{"nodes":[],"startTime":1}}`, `with the members "result"`},
		{"trace_events_wrapped", `{"trace":{"traceEvents":[]}}`, `with the members "trace"`},
		{"many_members", `{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0}`, `"8" and 1 more`},
		{"long_name", `{"` + strings.Repeat("a", 1000) + `":1}`, `"` + strings.Repeat("a", maxKeyLength) + `"`},
		{"jpeg", "\xFF\xD8\xFF\xE0\x00\x10JFIF", "this is a JPEG picture"},
		{"xz", "\xFD7zXZ\x00\x00", "an xz archive; unpack it first"},
		{"utf16", "\xFF\xFE[\x00", "UTF-16"},
		{"html", "<!DOCTYPE html>", "HTML"},
		{"text", "hello, world, how are you", `it begins with "hello, world, ho"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := newReplay(strings.NewReader(test.input), replayMemory, t.TempDir())
			_, err := detect(in)
			if !errors.Is(err, ErrUnknownFormat) || !strings.Contains(err.Error(), test.message) {
				t.Errorf("error %q; want ErrUnknownFormat with %q", err, test.message)
			}
		})
	}
}

// TestMemberScanPieces feeds an object that is split at every byte in turn.
func TestMemberScanPieces(t *testing.T) {
	const input = `{"a\"":[{"b":"\\"}],"profile":{"x":{"nodes":1},"meta":{}, "threads":[]}}`
	for cut := range len(input) {
		var s memberScan
		got := s.feed([]byte(input[:cut]))
		if got == "" {
			got = s.feed([]byte(input[cut:]))
		}
		if got != FormatFirefox {
			t.Errorf("cut at %d: %v", cut, got)
		}
	}
}

func TestReplayRemovesItsFile(t *testing.T) {
	dir := t.TempDir()
	in := newReplay(bytes.NewReader(make([]byte, 3*replayChunk+1)), replayChunk, dir)
	for {
		if _, err := in.Peek(); err != nil {
			break
		}
	}
	if in.file == nil {
		t.Fatal("everything is in memory")
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 && runtime.GOOS == "linux" {
		t.Errorf("%s has a name: it would stay if the program is killed", files[0].Name())
	}
	if all, err := io.ReadAll(in); err != nil || len(all) != 3*replayChunk+1 {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d temporary files left", len(files))
	}
}

func TestReplayWithoutPlaceForItsFile(t *testing.T) {
	in := newReplay(bytes.NewReader(make([]byte, 10)), 1, t.TempDir()+"/none")
	if _, err := in.Peek(); err == nil || err == io.EOF {
		t.Errorf("Peek: %v; want an error about the temporary file", err)
	}
}

func TestReplayPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	in := newReplay(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken)), 100, "")
	if _, err := detect(in); !errors.Is(err, broken) {
		t.Errorf("detect: %v", err)
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte(`{"profile":{"meta":1,"threads":[]}}`), 3)
	f.Add([]byte("\n{\"a\\\"\":[}"), 1)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		in := newReplay(bytes.NewReader(data), max(limit, 0), dir)
		defer in.Close()
		if _, err := detect(in); err != nil && !errors.Is(err, ErrUnknownFormat) {
			t.Fatal(err)
		}
		all, err := io.ReadAll(in)
		if err != nil || !bytes.Equal(all, data) {
			t.Fatalf("replay gave %d bytes, %v; want %d", len(all), err, len(data))
		}
	})
}
