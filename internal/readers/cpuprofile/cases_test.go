package cpuprofile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// suite runs the cases.
var suite = readertest.Suite[Options]{
	Read:   Read,
	Common: func(o *Options) *readers.Options { return &o.Options },
	Option: func(o *Options, name, value string) (err error) {
		switch name {
		case "offset-ns":
			_, err = fmt.Sscan(value, &o.Offset)
		case "args":
			o.Args = timeline.OnlyArgs(value)
		case "details":
			o.CallDetails, err = strconv.ParseBool(value)
		}
		return err
	},
	Variants: []func(*Options){func(*Options) {}},
}

// TestCases compares the results of the profiles in testdata with the expected ones.
func TestCases(t *testing.T) { suite.Run(t) }

func TestReadErrors(t *testing.T) {
	if _, _, err := suite.Load(t, strings.NewReader(`{"nodes":[{"id":1}`), Options{}); err == nil || !strings.Contains(err.Error(), "byte 18") {
		t.Errorf("cut: %v", err)
	}
	broken := errors.New("broken")
	if _, _, err := suite.Load(t, iotest.ErrReader(broken), Options{}); !errors.Is(err, broken) {
		t.Errorf("broken reader: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log})
	defer b.Close()
	if err := Read(ctx, strings.NewReader("{}"), b, Options{Options: readers.Options{Problems: log}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestProcessName checks that the process is named after the origin of its functions.
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
			tl, _, err := suite.Load(t, strings.NewReader(`{"nodes":[`+strings.Join(nodes, ",")+`],"samples":[1],"timeDeltas":[1]}`), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := tl.Track(1).Name; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
