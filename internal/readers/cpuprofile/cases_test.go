package cpuprofile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
)

// load reads a profile into a timeline, which is closed with the test.
func load(tb testing.TB, r io.Reader, opts Options) (*timeline.Timeline, error) {
	tb.Helper()
	log := new(problem.Log)
	opts.Problems = log
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: tb.TempDir()})
	if err := Read(context.Background(), r, b, opts); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := tl.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := tl.Nest(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return tl, nil
}

// TestCases reads the profiles in testdata and compares what is in the timeline with results made by hand.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var opts Options
			for line := range strings.Lines(string(ar.Comment)) {
				switch option, value, _ := strings.Cut(strings.TrimSpace(line), ": "); option {
				case "offset-ns":
					n, err := strconv.ParseInt(value, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					opts.Offset = timeline.Nanos(n)
				case "args":
					opts.KeepArg = func(name []byte) bool { return string(name) == value }
				}
			}
			tl, err := load(t, iotest.HalfReader(bytes.NewReader(ar.Files[0].Data)), opts)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tracetext.Dump(context.Background(), tl)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(string(ar.Files[2].Data), tracetext.Problems(tl.Problems())); diff != "" {
				t.Errorf("problems: -want +got:\n%s", diff)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	if _, err := load(t, strings.NewReader(`{"nodes":[{"id":1}`), Options{}); err == nil || !strings.Contains(err.Error(), "byte 18") {
		t.Errorf("cut: %v", err)
	}
	broken := errors.New("broken")
	if _, err := load(t, iotest.ErrReader(broken), Options{}); !errors.Is(err, broken) {
		t.Errorf("broken reader: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log})
	defer b.Close()
	if err := Read(ctx, strings.NewReader("{}"), b, Options{Problems: log}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestProcessName names the process by what its functions are from.
func TestProcessName(t *testing.T) {
	for _, c := range []struct{ name, urls, want string }{
		{"page", `["chrome-extension://abc/x.js","https://example.org:8080/app.js?x","https://other.org/"]`, "https://example.org:8080"},
		{"Node.js", `["file:///app/main.js","node:internal/timers"]`, "Node.js"},
		{"unknown", `["","file:///app/main.js","http://"]`, "V8 CPU profile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var nodes []string
			for i, u := range strings.Split(strings.Trim(c.urls, "[]"), ",") {
				nodes = append(nodes, `{"id":`+strconv.Itoa(i+1)+`,"callFrame":{"functionName":"f","url":`+u+`}}`)
			}
			tl, err := load(t, strings.NewReader(`{"nodes":[`+strings.Join(nodes, ",")+`],"samples":[1],"timeDeltas":[1]}`), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := tl.Track(1).Name; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
