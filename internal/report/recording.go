package report

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// Recording describes the origin of a trace, as far as its facts do.
type Recording struct {
	Producer string `json:"producer,omitempty"` // "Chrome", "Firefox", "Node.js", "PyTorch", …
	Version  string `json:"version,omitempty"`  // of the producer
	System   string `json:"system,omitempty"`   // the operating system and processor
	// Recorded is when the recording began: in RFC 3339, or in the producer's words if the time zone is missing.
	Recorded string   `json:"recorded,omitempty"`
	Commands []string `json:"command_lines,omitempty"` // of the recorded programs
}

// maxCommands bounds the kept command lines.
const maxCommands = 100

// recordingOf reads the facts about a trace in any format. If weft converts a trace, the output has the same facts.
func recordingOf(tl *timeline.Timeline) Recording {
	f := recordingFacts{text: map[string]string{}}
	for _, a := range tl.Attributes() {
		value := a.Text
		if a.IsInt {
			value = strconv.FormatInt(a.Int, 10)
		}
		f.add(strings.TrimPrefix(a.Key, "metadata."), value)
	}
	r := Recording{Commands: f.commands}
	r.Producer, r.Version = f.producer()
	r.System = f.system()
	r.Recorded = f.recorded(tl.Totals().Start)
	return r
}

// recordingFacts holds the facts about the origin of a trace.
type recordingFacts struct {
	text     map[string]string // by the name of the fact
	node     string            // version of Node.js
	commands []string
}

// recordingNames lists the names of the relevant facts.
var recordingNames = []string{
	"user-agent", "product-version", "os-name", "os-version", "os-arch", "trace-capture-datetime", "source", "startTime",
	"firefox.product", "firefox.misc", "firefox.oscpu", "firefox.importedFrom", "firefox.startTime", "firefox.profilingStartTime",
	"cuda_runtime_version", "baseTimeNanoseconds", "traceName", "schemaVersion", "weft.input_format",
	"probes.epoch_ns", "probes.sync_ns", "probes.sync_unix_ns",
}

func (f *recordingFacts) add(name, value string) {
	process, isProcess := strings.CutPrefix(name, "process.")
	switch {
	case slices.Contains(recordingNames, name):
		f.text[name] = value
	case name == "command_line" || isProcess && strings.HasSuffix(process, ".cmdline"):
		if value != "" && len(f.commands) < maxCommands && !slices.Contains(f.commands, value) {
			f.commands = append(f.commands, value)
		}
	case isProcess && strings.HasSuffix(process, ".version"):
		var versions struct{ Node string }
		if json.Unmarshal([]byte(value), &versions) == nil && versions.Node != "" {
			f.node = versions.Node
		}
	}
}

// browserTokens identify the browser in its user agent; the first match counts, because the other browsers also call themselves
// Chrome.
var browserTokens = []struct {
	name  string
	token *regexp.Regexp
}{
	{"Edge", regexp.MustCompile(`\bEdg/([0-9.]+)`)},
	{"Opera", regexp.MustCompile(`\bOPR/([0-9.]+)`)},
	{"Chrome (headless)", regexp.MustCompile(`\bHeadlessChrome/([0-9.]+)`)},
	{"Chrome", regexp.MustCompile(`\bChrome/([0-9.]+)`)},
}

// producer returns the program that made the recording and its version.
func (f *recordingFacts) producer() (name, version string) {
	for _, b := range browserTokens {
		if m := b.token.FindStringSubmatch(f.text["user-agent"]); m != nil {
			return b.name, m[1]
		}
	}
	switch {
	case f.node != "":
		return "Node.js", f.node
	case f.text["firefox.importedFrom"] != "":
		return f.text["firefox.importedFrom"] + ", imported by the Firefox Profiler", ""
	case f.text["firefox.product"] != "":
		return f.text["firefox.product"], strings.TrimPrefix(f.text["firefox.misc"], "rv:")
	case f.text["source"] == "DevTools":
		return "Chrome DevTools", ""
	case f.text["cuda_runtime_version"] != "", f.text["schemaVersion"] != "" && f.text["baseTimeNanoseconds"] != "":
		return "the PyTorch profiler", ""
	}
	return "", ""
}

// system returns the operating system on which the recording was made.
func (f *recordingFacts) system() string {
	if s := f.text["firefox.oscpu"]; s != "" {
		return s
	}
	agent := f.text["user-agent"]
	if _, rest, ok := strings.Cut(agent, "("); ok {
		inner, _, _ := strings.Cut(rest, ")")
		parts := strings.Split(inner, "; ")
		return parts[len(parts)-1]
	}
	return strings.TrimSpace(f.text["os-name"] + " " + f.text["os-arch"])
}

// recorded returns when the recording began.
func (f *recordingFacts) recorded(start timeline.Nanos) string {
	if at := f.text["trace-capture-datetime"]; at != "" { // Chrome writes UTC, without leading zeros
		if t, err := time.Parse(chromeTime, at); err == nil {
			return t.Format(time.RFC3339)
		}
		return at
	}
	if t, err := time.Parse(time.RFC3339, f.text["startTime"]); err == nil { // DevTools
		return t.UTC().Format(time.RFC3339)
	}
	if ms, ok := f.float("firefox.startTime"); ok && ms > 0 {
		began, _ := f.float("firefox.profilingStartTime")
		return unixTime(int64((ms + began) * 1e6))
	}
	if base, ok := f.int("baseTimeNanoseconds"); ok && start >= 0 && base < math.MaxInt64-int64(start) {
		if int64(start) > base/2 { // the times are already relative to 1970
			base = 0
		}
		return unixTime(base + int64(start))
	}
	epoch, ok := f.int("probes.epoch_ns")
	if unix, has := f.int("probes.sync_unix_ns"); has && !ok {
		sync, has := f.int("probes.sync_ns")
		epoch, ok = unix-sync, has && (sync >= 0) == (unix-sync <= unix)
	}
	if ok && start >= 0 && epoch > 0 && epoch < math.MaxInt64-int64(start) {
		return unixTime(epoch + int64(start))
	}
	return ""
}

func (f *recordingFacts) int(name string) (int64, bool) {
	n, err := strconv.ParseInt(f.text[name], 10, 64)
	return n, err == nil
}

// float reads a number of milliseconds. It returns false for values that cannot be times.
func (f *recordingFacts) float(name string) (float64, bool) {
	v, err := strconv.ParseFloat(f.text[name], 64)
	return v, err == nil && math.Abs(v) < math.MaxInt64/4e6
}

// chromeTime is the layout of Chrome's recording times.
const chromeTime = "2006-1-2 15:4:5"

// unixTime formats a time, in whole seconds.
func unixTime(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
