package migrate

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/problem"
)

// Summary describes all records of a migration and what a run did. Its JSON form is stable.
type Summary struct {
	Root      string            `json:"root,omitempty"`
	Options   map[string]string `json:"options"`
	OptionsID string            `json:"options_id"`

	States   []StateTotals   `json:"states"`   // by state
	Formats  []FormatTotals  `json:"formats"`  // of converted inputs, by format
	Problems []ProblemTotals `json:"problems"` // of converted inputs, by name
	Kinds    []KindTotals    `json:"kinds"`    // of failed and skipped inputs

	Archives int64 `json:"archives"` // archive files, which are not in States
	// Look lists up to ten files that most need attention: first files that failed, then those with the most unusual losses.
	Look []Look `json:"look"`

	OlderVersions int64 `json:"older_versions"` // outputs from other versions of weft
	OtherOptions  int64 `json:"other_options"`  // outputs made with options other than the latest run's
	Lost          int64 `json:"lost_files"`     // outputs that lack some input data
	// LostUnusual counts the outputs with losses that are unusual for their formats.
	LostUnusual int64 `json:"unusual_lost_files"`

	Run *RunTotals `json:"run,omitempty"` // nil: no run

	DryRun  bool      `json:"dry_run,omitempty"`
	Decided []Decided `json:"decided,omitempty"` // counts of a dry run
}

// StateTotals counts the inputs in a state.
type StateTotals struct {
	State    State `json:"state"`
	Files    int64 `json:"files"`
	Bytes    int64 `json:"bytes"`
	BytesOut int64 `json:"bytes_out,omitempty"`
}

// FormatTotals counts the inputs in a format.
type FormatTotals struct {
	Format   convert.Format      `json:"format"`
	Files    int64               `json:"files"`
	Bytes    int64               `json:"bytes"`
	BytesOut int64               `json:"bytes_out"`
	Events   convert.EventCounts `json:"events"`
}

// ProblemTotals counts the files and cases of a data problem.
type ProblemTotals struct {
	Name  string `json:"name"`
	Files int64  `json:"files"`
	Count uint64 `json:"count"`
}

// KindTotals counts the inputs that failed or were skipped for one reason.
type KindTotals struct {
	State State `json:"state"`
	Kind  Kind  `json:"kind"`
	Files int64 `json:"files"`
	// Paths lists the first three inputs.
	Paths []string `json:"paths"`
}

// A Look is a file that needs attention.
type Look struct {
	Input  string `json:"input"` // path of the input, followed by the member
	Kind   Kind   `json:"kind,omitempty"`
	Reason string `json:"reason,omitempty"`
	Lost   uint64 `json:"lost,omitempty"`
}

// RunTotals counts what one run did.
type RunTotals struct {
	Found        int64 `json:"found"`         // inputs
	Converted    int64 `json:"converted"`     // including members of archives
	Failed       int64 `json:"failed"`        // including members of archives
	Skipped      int64 `json:"skipped"`       // for the first time
	Unchanged    int64 `json:"unchanged"`     // converted or skipped in earlier runs
	FailedBefore int64 `json:"failed_before"` // and not tried again
	Forgotten    int64 `json:"forgotten"`     // records of failed or skipped inputs that no longer exist

	Left       int64   `json:"left"`        // known inputs that are not done, because the run did not finish
	LeftBytes  int64   `json:"left_bytes"`  // bytes of these inputs
	MoreToFind bool    `json:"more"`        // some inputs were not found yet
	BytesRead  int64   `json:"bytes_read"`  // from inputs
	Seconds    float64 `json:"seconds"`     // duration of the run
	Unfinished bool    `json:"unfinished"`  // the run was stopped or interrupted
	OutOfShard bool    `json:"other_shard"` // further inputs are in other shards
}

const (
	maxPaths = 3
	maxLook  = 10
)

// summarizer builds a Summary from records.
type summarizer struct {
	Summary
	states   map[State]*StateTotals
	formats  map[convert.Format]*FormatTotals
	problems map[string]*ProblemTotals
	kinds    map[Kind]*KindTotals
}

func newSummarizer() *summarizer {
	return &summarizer{states: map[State]*StateTotals{}, formats: map[convert.Format]*FormatTotals{},
		problems: map[string]*ProblemTotals{}, kinds: map[Kind]*KindTotals{}}
}

// at returns the value for a key, and creates it if necessary.
func at[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

func (s *summarizer) add(r *Record) {
	if r.State == Done && r.Output == "" {
		s.Archives++
		return
	}
	state := at(s.states, r.State)
	state.Files++
	state.Bytes += r.Size
	state.BytesOut += r.OutSize
	if r.State != Done {
		kind := at(s.kinds, r.Kind)
		kind.State, kind.Kind = r.State, r.Kind
		if kind.Files++; len(kind.Paths) < maxPaths {
			kind.Paths = append(kind.Paths, r.path())
		}
		if r.State == Failed {
			s.look(Look{Input: r.path(), Kind: r.Kind, Reason: r.Reason})
		}
		return
	}
	s.addDone(r)
}

func (s *summarizer) addDone(r *Record) {
	format := at(s.formats, r.Format)
	format.Files++
	format.Bytes += r.Size
	format.BytesOut += r.OutSize
	if e := r.Events; e != nil {
		sum := &format.Events
		sum.Slices += e.Slices
		sum.Unfinished += e.Unfinished
		sum.Instants += e.Instants
		sum.CounterValues += e.CounterValues
		sum.Samples += e.Samples
		sum.Flows += e.Flows
		sum.AddedSlices += e.AddedSlices
		sum.AddedInstants += e.AddedInstants
		sum.IdleStates += e.IdleStates
		sum.Screenshots += e.Screenshots
		sum.ScreenshotBytes += e.ScreenshotBytes
	}
	for name, count := range r.Problems {
		p := at(s.problems, name)
		p.Files++
		p.Count = problem.Sum(p.Count, count)
	}
	if r.Weft != pfwire.Version {
		s.OlderVersions++
	}
	if r.OptionsID != s.OptionsID {
		s.OtherOptions++
	}
	if r.Lost > 0 {
		s.Lost++
	}
	if n := r.lostUnusual(); n > 0 {
		s.LostUnusual++
		s.look(Look{Input: r.path(), Lost: n})
	}
}

// look keeps a file if it is one of the ten that most need attention.
func (s *summarizer) look(l Look) {
	i, _ := slices.BinarySearchFunc(s.Look, l, func(a, b Look) int {
		if (a.Kind != "") != (b.Kind != "") {
			if a.Kind != "" {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), -1) // equal files stay in order
	})
	if i < maxLook {
		s.Look = slices.Insert(s.Look, i, l)
		s.Look = s.Look[:min(len(s.Look), maxLook)]
	}
}

// result returns the summary, with sorted lists.
func (s *summarizer) result() *Summary {
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	for state, totals := range s.states {
		totals.State = state
	}
	for format, totals := range s.formats {
		totals.Format = format
	}
	for name, totals := range s.problems {
		totals.Name = name
	}
	s.States = values(s.states)
	s.Formats = values(s.formats)
	s.Problems = values(s.problems)
	s.Kinds = values(s.kinds)
	slices.SortStableFunc(s.Kinds, func(a, b KindTotals) int { return cmp.Compare(a.State, b.State) })
	return &s.Summary
}

// values returns the values of a map in the order of its keys.
func values[K cmp.Ordered, V any](m map[K]*V) []V {
	list := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, *m[key])
	}
	return list
}

// Total returns the totals of a state.
func (s *Summary) Total(state State) StateTotals {
	for _, t := range s.States {
		if t.State == state {
			return t
		}
	}
	return StateTotals{State: state}
}

// totals returns what the run has done so far.
func (r *run) totals() *RunTotals {
	c := &r.counts
	return &RunTotals{
		Found: c.found.Load(), Converted: c.done.Load() + c.members.Load(), Failed: c.failed.Load(), Skipped: c.skipped.Load(),
		Unchanged: c.unchanged.Load(), FailedBefore: c.failedBefore.Load(), Forgotten: c.forgotten.Load(),
		Left: c.todo.Load() - c.processed.Load(), LeftBytes: max(c.todoBytes.Load()-c.bytesRead.Load(), 0), MoreToFind: !c.walked.Load(),
		BytesRead: c.bytesRead.Load(), Seconds: time.Since(r.began).Seconds(), OutOfShard: r.Shard.Count > 1,
	}
}

// unfinished returns the summary of a run that did not finish.
func (r *run) unfinished() *Summary {
	totals := r.totals()
	totals.Unfinished = true
	s := newSummarizer()
	s.Root, s.Options, s.OptionsID, s.Run = r.root, r.Settings, r.optionsID, totals
	return s.result()
}

// summarize writes the manifest, unless the run is a shard, and summarises it.
func (r *run) summarize() (*Summary, error) {
	s := newSummarizer()
	s.Root, s.Options, s.OptionsID, s.Run = r.root, r.Settings, r.optionsID, r.totals()
	if r.Shard.Count > 1 {
		all, err := r.state.openRecords()
		if err != nil {
			return nil, err
		}
		defer all.close()
		err = all.each(func(record *Record) error {
			if r.Shard.Has(record.Input) {
				s.add(record)
			}
			return nil
		})
		return s.result(), err
	}
	if err := r.state.writeManifest(r.header(), s.add); err != nil {
		return nil, stopped(err, "the manifest: %s", cause(err))
	}
	return s.result(), nil
}

// Status summarises the records in the output folder. It writes nothing.
func Status(out string) (summary *Summary, err error) {
	defer func() { err = asStop(err) }()
	state := stateOf(out)
	all, err := state.openRecords()
	if err != nil {
		return nil, err
	}
	defer all.close()
	if all.header == nil {
		return nil, mistakef("%s: there is no migration", out)
	}
	s := newSummarizer()
	s.Root, s.Options, s.OptionsID = all.root, all.header.Options, all.header.OptionsID
	err = all.each(func(record *Record) error { s.add(record); return nil })
	return s.result(), err
}

// Finish writes the manifest of all shards' records, and summarises it.
func Finish(out string) (summary *Summary, err error) {
	defer func() { err = asStop(err) }()
	state := stateOf(out)
	if _, err := os.Stat(state.dir); err != nil {
		return nil, mistakef("%s: there is no migration", out)
	}
	unlock, err := state.lock(Shard{})
	if err != nil {
		return nil, err
	}
	defer unlock()
	all, err := state.openRecords()
	if err != nil {
		return nil, err
	}
	all.close()
	if all.header == nil {
		return nil, mistakef("%s: there is no migration", out)
	}
	s := newSummarizer()
	s.Root, s.Options, s.OptionsID = all.root, all.header.Options, all.header.OptionsID
	if err := state.writeManifest(all.header, s.add); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// Settings returns the recorded root and options of the latest run.
func Settings(out string) (root string, settings map[string]string, err error) {
	defer func() { err = asStop(err) }()
	all, err := stateOf(out).openRecords()
	if err != nil {
		return "", nil, err
	}
	defer all.close()
	if all.header == nil {
		return "", nil, mistakef("%s: there is no migration; run weft migrate with inputs first", out)
	}
	return all.root, all.header.Options, nil
}
