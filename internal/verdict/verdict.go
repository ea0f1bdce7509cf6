// Package verdict decides what a reader should know first about a recording: a sentence with the numbers that matter for its
// kind, how far to trust it, a few key numbers, and what to change, with the largest gain first.
//
// A verdict is data computed from a report.All. Its texts consist of typed parts, which a page marks up and a terminal prints
// plainly. Each rule is a function that reads the structs of internal/report; none guesses from file names. Public thresholds,
// such as the ones for Core Web Vitals, are in rate.go.
//
// Measuring is in internal/report, and markup is in internal/reportpage. Nothing here reads files.
package verdict

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Kind is the kind of a recording.
type Kind string

// The kinds of recordings.
const (
	WebPage Kind = "web page"
	Profile Kind = "profile" // call stack samples, but no tasks of a page
	Service Kind = "service trace"
	Archive Kind = "HTTP archive"
	Job     Kind = "GPU job"
	Probes  Kind = "probes"
	Program Kind = "program" // slices of anything else
	Other   Kind = "other"   // neither slices nor samples
)

// Verdict is the judgment of a recording. Times are nanoseconds; points in time are on the trace's clock.
type Verdict struct {
	Kind    Kind    `json:"kind"`
	Heading Text    `json:"heading"`          // a sentence without its period
	Rating  Rating  `json:"rating,omitempty"` // of the number in Heading
	Why     []Text  `json:"why"`              // sentences
	Trust   []Text  `json:"trust"`            // sentences about the limits of the numbers
	Tiles   []Tile  `json:"tiles"`            // at most maxTiles
	Issues  []Issue `json:"issues"`           // largest gain first, at most maxIssues
}

// Tile is a key number.
type Tile struct {
	Label   string `json:"label"`
	Value   string `json:"value"`
	Note    string `json:"note,omitempty"`
	Rating  Rating `json:"rating,omitempty"`
	Section string `json:"section,omitempty"` // the section of the page with the details
}

// Class is who can fix an issue.
type Class string

// The classes.
const (
	Yours    Class = "yours"
	Browser  Class = "browser"
	Machine  Class = "machine"
	Recorder Class = "recorder"
)

// Issue is something that a reader can change.
type Issue struct {
	Title  Text           `json:"title"` // a sentence without its period
	Proof  Text           `json:"proof"`
	Action Text           `json:"action"`
	Class  Class          `json:"class"`
	Gain   timeline.Nanos `json:"gain_ns"` // the time that the reader would save, multiplied by the confidence in it
	// Show is the moment to look at; nil if there are several.
	Show    *Moment `json:"show,omitempty"`
	Section string  `json:"section,omitempty"`
}

// Moment is an interval of a recording; Thread is nil if it is not on a particular thread.
type Moment struct {
	Start    timeline.Nanos   `json:"ts_ns"`
	Duration timeline.Nanos   `json:"dur_ns"`
	Thread   *report.ThreadID `json:"thread,omitempty"`
}

// PartKind is how to mark up a part of a text.
type PartKind string

// The kinds of parts.
const (
	Plain  PartKind = "plain"
	Name   PartKind = "name" // a name in the input
	Number PartKind = "number"
	Place  PartKind = "place" // in code: main.js:8
)

// Part is a piece of text of one kind.
type Part struct {
	Kind PartKind `json:"kind"`
	Text string   `json:"text"`
}

// Text is a sequence of typed parts.
type Text []Part

// String returns the text without its types.
func (t Text) String() string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.Text)
	}
	return b.String()
}

// text replaces each %s in a format with the next argument: a string, which becomes a plain part, a Part, or a Text.
func text(format string, args ...any) (t Text) {
	pieces := strings.Split(format, "%s")
	for i, piece := range pieces {
		if piece != "" {
			t = append(t, Part{Plain, piece})
		}
		if i == len(pieces)-1 {
			break
		}
		switch arg := args[i].(type) {
		case Part:
			t = append(t, arg)
		case Text:
			t = append(t, arg...)
		case string:
			t = append(t, Part{Plain, arg})
		}
	}
	return slices.DeleteFunc(t, func(p Part) bool { return p.Text == "" })
}

// nameWidth is the width to which names are shortened.
const nameWidth = 60

// quoteLength is the number of characters to which quotes are truncated.
const quoteLength = 120

func name(s string) Part {
	return Part{Name, table.Elide(strings.Join(strings.Fields(s), " "), nameWidth)}
}

// quote returns a message or statement from the input, truncated.
func quote(s string) Part {
	words := strings.Join(strings.Fields(s), " ")
	if runes := []rune(words); len(runes) > quoteLength {
		words = strings.TrimRight(string(runes[:quoteLength]), " ") + "…"
	}
	return Part{Name, words}
}

func number(s string) Part { return Part{Number, s} }

func length(t timeline.Nanos) Part { return number(table.Length(t)) }

func percent(part, whole timeline.Nanos) Part { return number(table.Percent(part, whole)) }

func count[N table.Integer](n N, what string) Part { return number(table.Count(n, what)) }

func times[N table.Integer](n N) Part {
	if n == 1 {
		return number("once")
	}
	return number(table.Thousands(n) + " times")
}

// place shortens a location in code to the file name and the line.
func place(location string) Part {
	short := ShortURL(location)
	if i := strings.LastIndexByte(strings.TrimRight(short, "/"), '/'); i >= 0 {
		short = short[i+1:]
	}
	if parts := strings.Split(short, ":"); len(parts) > 2 { // without the column
		short = strings.Join(parts[:len(parts)-1], ":")
	}
	return Part{Place, table.Elide(short, nameWidth)}
}

// in returns a location in parentheses after a space; nothing if it is unknown or only a library.
func in(location string) Text {
	if p := place(location); strings.Contains(p.Text, ":") || strings.Contains(location, "://") {
		return text(" (%s)", p)
	}
	return nil
}

// ShortURL removes the scheme, user name, query and fragment from a url, and keeps a line and column after it. Other texts are
// returned unchanged.
func ShortURL(url string) string {
	if !strings.Contains(url, "://") {
		return url
	}
	_, host, path := producers.SplitURL(url)
	line := ""
	if q := strings.IndexAny(url, "?#"); q >= 0 {
		if i := strings.IndexByte(url[q:], ':'); i >= 0 && strings.Trim(url[q+i:], ":0123456789") == "" {
			line = url[q+i:]
		}
	}
	return host + strings.TrimSuffix(path, "/") + line
}

// Limits of a verdict.
const (
	maxTiles  = 6
	maxIssues = 5
)

// Lost returns how many times data was lost, not counting problems that are usual for the format.
func Lost(problems []trace.Problem, usual []string) (n uint64) {
	for _, x := range problems {
		if x.Severity == "lost" && !slices.Contains(usual, x.Name) {
			n += x.Count
		}
	}
	return n
}

// Of judges a recording. The parameter problems lists the problems that were counted while the recording was read; usual lists
// the names of problems that most recordings of this format have.
func Of(all *report.All, problems []trace.Problem, usual []string) *Verdict {
	j := newJudge(all, Lost(problems, usual))
	switch j.kind() {
	case WebPage:
		j.web()
	case Profile:
		j.profile()
	case Service:
		j.service()
	case Archive:
		j.archive()
	case Job:
		j.job()
	case Probes:
		j.probes()
	case Program:
		j.program()
	default:
		j.other()
	}
	j.finish()
	return &j.out
}

type judge struct {
	*report.All
	lost uint64
	out  Verdict

	shows map[report.ThreadID]string // the urls that threads work for
	main  *report.ThreadUse          // the thread that the verdict is about; nil: none
	tasks []report.Task              // long tasks, except the profiler's own
	noise []report.Task              // the profiler's own long tasks
}

func newJudge(all *report.All, lost uint64) *judge {
	j := &judge{All: all, lost: lost, shows: map[report.ThreadID]string{}}
	j.out = Verdict{Why: []Text{}, Trust: []Text{}, Tiles: []Tile{}, Issues: []Issue{}}
	if u := all.Utilisation; u != nil {
		for i := range u.Threads {
			j.shows[u.Threads[i].ThreadID] = u.Threads[i].Shows
		}
		j.main = j.mainThread()
	}
	if all.Tasks != nil {
		for _, t := range all.Tasks.Tasks.Tasks {
			if isRecorders(&t) {
				j.noise = append(j.noise, t)
			} else {
				j.tasks = append(j.tasks, t)
			}
		}
	}
	return j
}

// kind determines the kind of the recording from its contents.
func (j *judge) kind() Kind {
	j.out.Kind = Other
	switch u := j.Utilisation; {
	case j.Slices != nil && len(j.Slices.Devices) > 0:
		j.out.Kind = Job
	case j.Inputs != nil, j.Loads != nil && u != nil, j.ofPage():
		j.out.Kind = WebPage
	case j.Spans != nil && j.Spans.Requests == j.Spans.Spans.Spans:
		j.out.Kind = Archive
	case j.Spans != nil:
		j.out.Kind = Service
	case j.All.Probes != nil && (u != nil || j.Counts.Slices > 0):
		j.out.Kind = Probes
	case len(j.Functions) > 0:
		j.out.Kind = Profile
	case u != nil:
		j.out.Kind = Program
	}
	return j.out.Kind
}

// ofPage reports whether a browser recorded tasks of pages, and not only samples.
func (j *judge) ofPage() bool {
	if j.All.Probes != nil || j.Utilisation == nil || j.main == nil || j.main.Sampled && !strings.HasPrefix(j.main.Thread, producers.GeckoMain) {
		return false
	}
	return j.main.Shows != "" || j.main.Thread == producers.ChromeRendererMain || j.main.Thread == producers.GeckoMain
}

// mainThread returns the busiest thread of one of the reader's pages, otherwise of a page with an unknown url, otherwise the
// thread that ran longest.
func (j *judge) mainThread() *report.ThreadUse {
	list := j.Utilisation.Threads
	for _, is := range []func(t *report.ThreadUse) bool{
		func(t *report.ThreadUse) bool { return report.IsPage(t.Shows) && !strings.Contains(t.Thread, "Worker") },
		func(t *report.ThreadUse) bool { return t.Thread == producers.ChromeRendererMain && t.Shows == "" },
	} {
		if i := slices.IndexFunc(list, func(t report.ThreadUse) bool { return is(&t) }); i >= 0 {
			return &list[i]
		}
	}
	onCPU := func(t *report.ThreadUse) timeline.Nanos { // wall time says little about threads that wait inside their slices
		if t.CPU != nil && t.CPUOf > t.Busy/2 {
			return *t.CPU
		}
		return t.Busy
	}
	most := &list[0]
	for i := range list {
		if onCPU(&list[i]) > onCPU(most) {
			most = &list[i]
		}
	}
	return most
}

// classOf returns who is responsible for the work of a thread.
func (j *judge) classOf(t *report.ThreadID) Class {
	shows := j.shows[*t]
	switch {
	case j.out.Kind != WebPage, report.IsPage(shows):
		return Yours
	case shows == "" && (t.Thread == producers.ChromeRendererMain || strings.Contains(t.Thread, "Worker")):
		return Yours
	}
	return Browser
}

// tile adds a key number unless there are maxTiles.
func (j *judge) tile(t Tile) {
	if len(j.out.Tiles) < maxTiles {
		j.out.Tiles = append(j.out.Tiles, t)
	}
}

// several multiplies a time without overflow.
func several(t timeline.Nanos, n int64) timeline.Nanos {
	if n > 0 && t > math.MaxInt64/timeline.Nanos(n) {
		return math.MaxInt64
	}
	return t * timeline.Nanos(n)
}

// issue adds an issue if it has a gain. The parameter sure is the confidence in the gain, in percent.
func (j *judge) issue(i Issue, sure timeline.Nanos) {
	if first := i.Title; len(first) > 0 && first[0].Kind == Plain && first[0].Text[0] < 0x80 {
		first[0].Text = strings.ToUpper(first[0].Text[:1]) + first[0].Text[1:]
	}
	if i.Gain = i.Gain / 100 * sure; i.Gain > 0 {
		j.out.Issues = append(j.out.Issues, i)
	}
}

// inside returns a text for the middle of a sentence: it puts the first letter in lower case unless the letter belongs to a name.
func inside(t Text) Text {
	t = slices.Clone(t)
	if p := &t[0]; p.Kind == Plain && p.Text[0] < 0x80 {
		p.Text = strings.ToLower(p.Text[:1]) + p.Text[1:]
	}
	return t
}

// heading sets the heading and the rating of its number. The rating is "" if the number has no threshold.
func (j *judge) heading(r Rating, format string, args ...any) {
	j.out.Heading, j.out.Rating = text(format, args...), r
}

// finish sorts and limits the issues, adds the sentences in Trust, and fills up the tiles.
func (j *judge) finish() {
	slices.SortStableFunc(j.out.Issues, func(a, b Issue) int { return cmp.Compare(b.Gain, a.Gain) })
	j.out.Issues = j.out.Issues[:min(len(j.out.Issues), maxIssues)]
	j.trust()
	if len(j.out.Tiles) < 4 && j.Utilisation != nil && j.main != nil {
		j.tile(Tile{Label: "Busiest thread", Value: table.Percent(j.main.Busy, j.Utilisation.End-j.Utilisation.Start), Note: "of " + table.Length(j.Utilisation.End-j.Utilisation.Start) + ": " + j.main.ThreadTitle(), Section: "busy"})
	}
	if len(j.out.Tiles) < 4 {
		j.tile(Tile{Label: "Recorded", Value: table.Length(j.End - j.Start), Note: table.Plural(j.Counts.Processes, "process", "processes") + ", " + table.Count(j.Counts.Threads, "thread")})
	}
	if len(j.out.Tiles) < 4 && j.Counts.Slices > 0 {
		j.tile(Tile{Label: "Slices", Value: table.Thousands(j.Counts.Slices), Section: "slices"})
	}
	if len(j.out.Tiles) < 4 && j.Counts.Samples > 0 {
		j.tile(Tile{Label: "Samples", Value: table.Thousands(j.Counts.Samples)})
	}
}
