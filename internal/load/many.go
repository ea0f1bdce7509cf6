package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/pftrace"
)

// merger reads each input of a job twice: first for its clues, then for its events.
type merger struct {
	*loader
	job      *merge.Job
	formats  []Format     // "": the input is skipped
	profiles bool         // some input is a profile, not a trace
	linked   [][]bool     // [input][index in job.Links]: some event has the argument
	stage    *merge.Stage // stage for the inputs that are read
}

// Many reads the inputs of a job into one timeline. With job.DryRun, it only determines their offsets and returns
// merge.ErrDryRun. It records the plan and the result for each input in the job.
func Many(ctx context.Context, job *merge.Job, opts Options) (*Trace, error) {
	return load(ctx, opts, nil, func(l *loader) error { return newMerger(l, job).run(ctx) })
}

func newMerger(l *loader, job *merge.Job) *merger {
	m := &merger{loader: l, job: job, formats: make([]Format, len(job.Sources)), linked: make([][]bool, len(job.Sources))}
	for i := range m.linked {
		m.linked[i] = make([]bool, len(job.Links))
	}
	return m
}

// run determines the offsets of the inputs and reads their events.
func (m *merger) run(ctx context.Context) error {
	if err := m.solve(ctx); err != nil {
		return err
	}
	if m.job.DryRun {
		return merge.ErrDryRun
	}
	return m.readAll(ctx)
}

// solve collects the clues in the inputs and determines the offsets of the inputs from them.
func (m *merger) solve(ctx context.Context) error {
	job := m.job
	if err := m.detect(ctx); err != nil {
		return err
	}
	if err := m.collectAll(ctx); err != nil {
		return err
	}
	var err error
	if job.Plan, err = merge.Solve(job.Inputs, job.Options); err != nil {
		return err
	}
	for i := range job.Inputs {
		if reason := job.Plan.Inputs[i].LeftOut; reason != nil {
			job.Failed = append(job.Failed, merge.InputError{Input: i, Err: reason})
			m.formats[i] = ""
		}
		job.Inputs[i].Clues = nil // free the memory
	}
	m.reportUnlinked()
	return nil
}

// reportUnlinked lists the --link arguments that no event has.
func (m *merger) reportUnlinked() {
	for k, key := range m.job.Links {
		if !slices.ContainsFunc(m.linked, func(found []bool) bool { return found[k] }) {
			m.job.Plan.Notes = append(m.job.Plan.Notes, "--link "+key+": no event has an argument "+key+" with a text or a whole number")
		}
	}
}

// fail handles an unreadable input. Without KeepGoing, or if the input is the reference, the error ends the job; errors that do
// not come from the input always end the job.
func (m *merger) fail(ctx context.Context, i int, err error) error {
	if file := m.job.Sources[i].File; file != "" {
		err = fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case !m.job.KeepGoing || ctx.Err() != nil || errors.Is(err, syscall.ENOSPC):
		return err
	case i == m.job.Reference || m.job.Plan != nil && i == m.job.Plan.Reference:
		return fmt.Errorf("%w; the other inputs are on its clock, so it cannot be left out", err)
	}
	m.formats[i] = ""
	m.job.Failed = append(m.job.Failed, merge.InputError{Input: i, Err: err})
	return nil
}

// collectAll collects the clues in all inputs.
func (m *merger) collectAll(ctx context.Context) error {
	clues, errs := make([]*merge.Clues, len(m.formats)), make([]error, len(m.formats))
	m.eachInput(func(i int) bool {
		if m.formats[i] != "" {
			clues[i], errs[i] = m.collect(ctx, i)
		}
		return errs[i] == nil || m.job.KeepGoing
	})
	for i, source := range m.job.Sources {
		in := merge.Input{Name: source.Name, File: source.File, Host: source.Host, Format: string(m.formats[i]), Clues: clues[i]}
		if errs[i] != nil {
			if err := m.fail(ctx, i, errs[i]); err != nil {
				return err
			}
		}
		m.job.Inputs = append(m.job.Inputs, in)
	}
	return nil
}

// maxOpenInputs limits how many inputs can be open at the same time.
const maxOpenInputs = 2

// eachInput calls read for the inputs, in order, until read returns false. With several workers, it reads Chrome JSON traces two
// at a time: for many small inputs, this is less work than dividing each among workers. It reads every other input alone, because
// its reader may load the whole input.
func (m *merger) eachInput(read func(i int) bool) {
	var (
		next  atomic.Int64
		ended atomic.Bool
		alone sync.RWMutex // write-locked by an input that must be read alone
		group sync.WaitGroup
	)
	for range min(maxOpenInputs, m.opts.workers()) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(m.formats) && !ended.Load(); i = int(next.Add(1)) - 1 {
				lock := sync.Locker(&alone)
				if m.formats[i] == FormatChromeJSON {
					lock = alone.RLocker()
				}
				lock.Lock()
				ok := read(i)
				lock.Unlock()
				if !ok {
					ended.Store(true)
				}
			}
		})
	}
	group.Wait()
}

// detect determines the formats of all inputs.
func (m *merger) detect(ctx context.Context) error {
	for i := range m.job.Sources {
		err := m.open(ctx, i, func(in *input) error {
			if in.format == FormatCPUProfile || in.format == FormatJSProfile {
				m.profiles = true
			}
			m.formats[i] = in.format
			return nil
		})
		if err != nil {
			if err := m.fail(ctx, i, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// open opens and unpacks an input, determines its format and passes it to use.
func (m *merger) open(ctx context.Context, i int, use func(in *input) error) error {
	file, err := m.job.Sources[i].Open()
	if err != nil {
		return err
	}
	defer file.Close()
	in, err := openInput(ctx, file, cmp.Or(m.formats[i], m.opts.From), m.opts.TempDir)
	if err != nil {
		return err
	}
	defer in.Close()
	return use(in)
}

// collect reads the clues in an input.
func (m *merger) collect(ctx context.Context, i int) (clues *merge.Clues, err error) {
	problems := new(problem.Log) // problems are counted when the events are read
	c, b := merge.NewCollector(merge.CollectOptions{
		Inputs: len(m.formats), Job: m.job, Linked: m.linked[i], Flows: m.job.LinkFlows,
		Profiles: m.profiles && (m.formats[i] == FormatChromeJSON || m.formats[i] == FormatPerfetto),
	}, timeline.Options{Memory: m.opts.Memory, TempDir: m.opts.TempDir, Problems: problems})
	defer b.Close()
	err = m.open(ctx, i, func(in *input) (err error) {
		switch in.format {
		case FormatCPUProfile:
			clues, err = m.cpuProfileClues(ctx, in, problems)
		case FormatJSProfile:
			clues, err = m.selfProfileClues(ctx, in, b, problems)
		default:
			err = m.observe(ctx, in, b, problems)
		}
		return err
	})
	if err != nil || clues != nil {
		return clues, err
	}
	return c.Finish(b.Clocks()), nil
}

// observe reads the events of an input for clues. It skips profiles, pictures and most arguments.
func (m *merger) observe(ctx context.Context, in *input, b *timeline.Builder, problems *problem.Log) error {
	opts := m.opts
	opts.NoScreenshots = true
	opts.JSCalls, opts.Samples, opts.Profile = JSCallsOff, pftrace.NoSamples, ""
	opts.Workers = max(1, m.opts.workers()/maxOpenInputs)
	l := &loader{opts: opts, problems: problems, builder: b, whole: b, report: &Report{}, args: timeline.OnlyArgs(m.job.Args()...)}
	return l.withinMemory(ctx, func(ctx context.Context) error { return l.readFormat(ctx, in, in.format) })
}

// cpuProfileClues reads the clues in a .cpuprofile, whose clock is its program's monotonic clock.
func (m *merger) cpuProfileClues(ctx context.Context, in io.Reader, problems *problem.Log) (*merge.Clues, error) {
	p, err := v8profile.ReadWithin(readers.Cancelled(ctx, in), problems, m.opts.profileMemory())
	if err != nil {
		return nil, err
	}
	c := &merge.Clues{Clock: merge.ClockMonotonic, Monotonic: true, CPUProfile: true}
	samples := p.Samples()
	for i := range p.Len() {
		ts := samples.Time(i)
		c.Samples = append(c.Samples, ts)
		if !p.Meta(samples.Recorded(i)) {
			c.Script = append(c.Script, ts)
		}
	}
	if p.Len() > 0 {
		c.Any, c.Start, c.End = true, c.Samples[0], p.Closing
	}
	return c.WithProcesses(), samples.Err()
}

// selfProfileClues reads the clues in a self-profile.
func (m *merger) selfProfileClues(ctx context.Context, in io.Reader, b *timeline.Builder, problems *problem.Log) (*merge.Clues, error) {
	opts := m.selfProfileOptions()
	opts.Problems = problems
	pages, err := jsprofile.ReadTimes(ctx, in, b, opts)
	if err != nil {
		return nil, err
	}
	c, first := merge.WithPages(pages), &pages[0]
	if first.Origin != nil {
		c.Clock, c.Wall = merge.ClockWall, &merge.Wall{Low: -first.Step, High: first.Step, By: "its time origin"}
	}
	return c, nil
}

// readAll reads the events of all inputs that have an offset. If an input fails only at this stage, because a profile is too
// large, for example, readAll starts over without this input.
func (m *merger) readAll(ctx context.Context) error {
	var dropped []string // arguments that connect inputs but do not belong in the output
	m.args, dropped = m.args.With(m.job.Args()...)
	for {
		failed := len(m.job.Failed)
		if err := m.readPlaced(ctx, dropped); err != nil || len(m.job.Failed) == failed {
			return err
		}
		if err := m.startOver(); err != nil {
			return err
		}
	}
}

// startOver discards all events that have been read.
func (m *merger) startOver() error {
	if err := errors.Join(m.closeProfiles(), m.builder.Close()); err != nil {
		return err
	}
	fresh := newLoader(m.opts)
	m.builder, m.whole, m.problems, m.report, m.v8Profiles = fresh.builder, fresh.whole, fresh.problems, fresh.report, nil
	return nil
}

// readPlaced reads the events of the inputs that have an offset, one input after the other.
func (m *merger) readPlaced(ctx context.Context, dropArgs []string) error {
	m.job.Problems, m.job.Common = make([]*problem.Log, len(m.formats)), m.problems
	leftOut := make([]bool, len(m.formats))
	for i, f := range m.formats {
		leftOut[i] = f == ""
	}
	m.stage = merge.NewStage(m.job, m.builder, leftOut, dropArgs)
	m.problems.Divide(m.stage.InputOf)
	for i := range m.formats {
		if leftOut[i] {
			continue
		}
		if err := m.readOne(ctx, i); err != nil {
			return err
		}
	}
	m.stage.Finish()
	m.report.Format = m.formats[m.job.Plan.Reference]
	return nil
}

// readOne reads the events of one input. Its problems count both for this input and for the whole trace.
func (m *merger) readOne(ctx context.Context, i int) error {
	common := m.problems
	offset := m.job.Plan.Inputs[i].Offset
	if m.formats[i] == FormatJSProfile {
		offset = 0 // the reader shifts each profile to its page's time origin
	}
	earlier := len(m.threads)
	m.builder, m.problems = m.stage.Next(i, offset, m.linked[i]), new(problem.Log)
	err := m.open(ctx, i, func(in *input) error { return m.readEvents(ctx, in, i) })
	for _, t := range m.threads[earlier:] {
		t.Shift += offset
		t.Problems = common // for problems found while calls are derived
		m.placeCalls(t, earlier)
	}
	m.stage.End()
	common.Merge(m.problems)
	m.job.Problems[i] = m.problems
	m.builder, m.problems = m.whole, common
	if err != nil {
		return m.fail(ctx, i, err)
	}
	return nil
}

// readEvents reads the events of the Builder's current input. A profile may belong to a thread or page in an earlier input.
func (m *merger) readEvents(ctx context.Context, in *input, i int) error {
	p := &m.job.Plan.Inputs[i]
	defer func() { m.profileOf, m.pages = 0, pages{} }()
	switch {
	case in.format == FormatJSProfile:
		m.pages = m.placePages(i, p.Pages)
	case p.Thread != nil:
		m.profileOf = m.builder.Thread(m.builder.Process(timeline.ProcessKey{Num: p.Thread.PID}), timeline.ThreadKey{Num: p.Thread.TID})
	}
	if err := m.withinMemory(ctx, func(ctx context.Context) error { return m.readFormat(ctx, in, in.format) }); err != nil {
		return err
	}
	m.countInput(in, m.job.Sources[i].Name+": ")
	return nil
}

// placePages returns the process and offset for each self-profile in an input.
func (m *merger) placePages(i int, all []merge.Page) (placed pages) {
	placed.offset = m.job.Plan.Inputs[i].Offset
	for k := range all {
		var place *jsprofile.Place
		if page := &all[k]; page.Match != nil {
			place = &jsprofile.Place{Shift: page.Shift}
			if thread := page.Thread(); thread != nil {
				place.Process = m.builder.Process(timeline.ProcessKey{Num: thread.PID})
			}
		}
		placed.places = append(placed.places, place)
	}
	if len(all) > 0 {
		placed.input = m.job.Sources[i].Name
	}
	return placed
}

// placeCalls chooses the track for the calls of a sampled thread in the current input: the track with the input's events on the
// thread, or a separate track if a sampled thread from an earlier input already puts calls there. The parameter earlier is the
// number of sampled threads from earlier inputs.
func (m *merger) placeCalls(t *jsThread, earlier int) {
	t.events = m.stage.Place(t.Track)
	if t.calls == t.Track {
		t.calls = t.events
	}
	for _, other := range m.threads[:earlier] {
		if cmp.Or(other.events, other.Track) == t.events {
			t.calls = m.builder.RoleTrack(t.Track, timeline.RoleCalls)
			t.events = t.calls // which contains no events
		}
	}
}
