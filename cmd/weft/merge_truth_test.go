package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/recording"
)

// clocks is a recording by several recorders on one machine. Each handler of the server recorded the monotonic clock and the
// wall clock, and the page recorded its time origin.
type clocks struct {
	name, whole string
	behind      int64 // wall clock minus monotonic clock, in ns
	origin      int64 // of the page, by the wall clock, rounded to 100 µs
}

var knownClocks = []clocks{
	{"node", "node", 1_795_467_643_954_248_709, 1_795_470_752_257_600_000},
	{"go", "go-noprofile", 1_795_467_643_954_248_817, 1_795_470_884_245_200_000},
}

// All known true offsets are within the stated uncertainty of the computed ones, whether inputs are merged alone or together, on
// named or unnamed hosts, or with a server or an archive whose clock is wrong by seconds.
func TestMergeTruth(t *testing.T) {
	for _, c := range knownClocks {
		t.Run(c.name, func(t *testing.T) { c.check(t, recording.Path(t, "clocks/"+c.name+"/trace.json")) })
		t.Run(c.name+"_whole", func(t *testing.T) {
			recording.NeedAll(t, "the whole recordings are large")
			c.check(t, recording.Large(t, "traces/merge/"+c.whole+"/trace.json.zst"))
		})
	}
}

func (c *clocks) check(t *testing.T, trace string) {
	dir := filepath.Join(recording.Testdata(t), "clocks", c.name)
	files := map[string]string{
		"chrome": trace, "server": filepath.Join(dir, "web.jsonl.gz"), "har": filepath.Join(dir, "page.har.gz"),
		"self": filepath.Join(dir, "selfprof.json.gz"), "cpu": filepath.Join(dir, "page.cpuprofile.gz"),
		"ahead": laterSpans(t, filepath.Join(dir, "web.jsonl.gz"), 3_500_000_000), "behind": laterSpans(t, filepath.Join(dir, "web.jsonl.gz"), -3_500_000_000),
		"early": laterRequests(t, filepath.Join(dir, "page.har.gz"), -3500*time.Millisecond),
	}
	// The offset from an input's times to the monotonic clock, and how exactly it is known.
	truth := map[string]int64{
		"server": -c.behind, "har": -c.behind, "self": c.origin - c.behind, "ahead": -c.behind - 3_500_000_000, "behind": -c.behind + 3_500_000_000,
		"early": -c.behind + 3_500_000_000,
	}
	known := map[string]int64{"self": 100_000}
	const hostOfBrowser, oneHost = "--host chrome=vm --host har=vm", "--host chrome=vm --host har=vm --host server=vm"
	for _, test := range []struct{ inputs, flags string }{
		{"chrome server", ""}, {"chrome server", oneHost}, {"chrome har", ""}, {"chrome har", oneHost}, {"server har", ""}, {"server har", oneHost},
		{"har server", ""}, {"chrome self", ""}, {"chrome cpu", ""}, {"chrome server har", ""}, {"chrome server har", hostOfBrowser},
		{"chrome har server", hostOfBrowser}, {"chrome server har", oneHost}, {"chrome server har self cpu", ""}, {"har server chrome", ""},
		{"server chrome", ""}, {"chrome ahead", ""}, {"chrome ahead", "--host chrome=vm"}, {"chrome behind", "--host chrome=vm"}, {"ahead har", ""},
		{"har behind", ""}, {"chrome ahead har", ""}, {"chrome har behind", hostOfBrowser}, {"chrome server early", ""}, {"early server chrome", ""}, {"server early", ""},
	} {
		args := []string{"--dry-run"}
		for _, name := range strings.Fields(test.inputs) {
			args = append(args, name+"="+files[name])
		}
		flags := strings.Fields(test.flags)
		for i := 0; i+1 < len(flags); i += 2 {
			if name, _, _ := strings.Cut(flags[i+1], "="); strings.Contains(test.inputs, name) {
				args = append(args, flags[i], flags[i+1])
			}
		}
		report, _ := merged(t, args...)
		base := int64(0)
		for _, in := range report.Inputs {
			if in.By == "" { // the reference
				base = in.Offset - truth[in.Name]
			}
		}
		for _, in := range report.Inputs {
			want := truth[in.Name] + base
			if in.Low > want+known[in.Name] || in.High < want-known[in.Name] {
				t.Errorf("%s %s: %s is at %d to %d ns from its place, by %s", test.inputs, test.flags, in.Name, in.Low-want, in.High-want, in.By)
			}
			if wide := in.High - in.Low; wide > 50_000_000 {
				t.Errorf("%s %s: %s is uncertain by %d ns", test.inputs, test.flags, in.Name, wide)
			}
		}
	}
}

// laterSpans writes a copy of a file of spans in which all times are later by the given number of nanoseconds.
func laterSpans(t *testing.T, path string, by int64) string {
	return rewritten(t, path, regexp.MustCompile(`imeUnixNano":"?[0-9]+`), func(found []byte) ([]byte, error) {
		digits := bytes.LastIndexFunc(found, func(r rune) bool { return r < '0' || r > '9' }) + 1
		ns, err := strconv.ParseInt(string(found[digits:]), 10, 64)
		return strconv.AppendInt(found[:digits:digits], ns+by, 10), err
	})
}

// laterRequests writes a copy of an HTTP archive in which all times are later by the given duration.
func laterRequests(t *testing.T, path string, by time.Duration) string {
	return rewritten(t, path, regexp.MustCompile(`[0-9-]+T[0-9:]+\.[0-9]{3}Z`), func(found []byte) ([]byte, error) {
		at, err := time.Parse(time.RFC3339, string(found))
		return at.Add(by).AppendFormat(nil, "2006-01-02T15:04:05.000Z"), err
	})
}

// rewritten writes a copy of a file in which pieces are replaced.
func rewritten(t *testing.T, path string, pieces *regexp.Regexp, by func(found []byte) ([]byte, error)) string {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	text = pieces.ReplaceAllFunc(text, func(found []byte) []byte {
		piece, err := by(found)
		if err != nil {
			t.Fatal(err)
		}
		return piece
	})
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(copied, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return copied
}
