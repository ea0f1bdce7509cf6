package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// The tables that AddTasks and AddInputs make.
const (
	ManyParts = "parts" // what is in long tasks
	ManyKinds = "kinds" // latencies and their parts, by kind of input
)

// Worst are the worst of the long tasks, or of the inputs, of all recordings, the worst first: at most 4,096 with 16 MiB of text.
type Worst[T worstRow] struct {
	Count      int64 // of all, those that are no longer in Rows included
	Recordings int   // that have any
	Rows       []T
}

// worstRow is what Worst keeps.
type worstRow interface {
	length() timeline.Nanos // the longer, the worse
	text() int              // bytes of text
}

// add takes in those of one recording. Of several of one length the first ones stay.
func (w *Worst[T]) add(rows []T) {
	if len(rows) == 0 {
		return
	}
	w.Recordings++
	sumInt(&w.Count, int64(len(rows)))
	w.Rows = append(w.Rows, rows...)
	slices.SortStableFunc(w.Rows, func(a, b T) int { return cmp.Compare(b.length(), a.length()) })
	kept, text := 0, 0
	w.Rows = slices.DeleteFunc(w.Rows, func(row T) bool {
		if more := row.text(); kept < maxTasks && text+more <= maxRowText {
			kept, text = kept+1, text+more
			return false
		}
		return true
	})
}

// ManyTask is a long task of one of many recordings.
type ManyTask struct {
	File string `json:"file"`
	ThreadID
	Basis      TaskBasis       `json:"basis"`
	Name       string          `json:"name,omitempty"`
	TraceStart timeline.Nanos  `json:"trace_start_ns"` // of the recording, on the clock of Start
	Start      timeline.Nanos  `json:"ts_ns"`
	Duration   timeline.Nanos  `json:"dur_ns"`
	Blocking   timeline.Nanos  `json:"blocking_ns"`
	CPU        *timeline.Nanos `json:"cpu_ns"` // nil if unknown
	Most       *WorkPart       `json:"most"`   // what has the most self time; nil if nothing is known of what is inside
}

func (t ManyTask) length() timeline.Nanos { return t.Duration }

func (t ManyTask) text() int {
	n := len(t.File) + len(t.Process) + len(t.Thread) + len(t.Name)
	if t.Most != nil {
		n += len(t.Most.Name) + len(t.Most.Location)
	}
	return n
}

// ManyInput is an input of one of many recordings.
type ManyInput struct {
	File         string          `json:"file"`
	Kind         InputKind       `json:"kind"`
	Type         string          `json:"type"`
	ID           string          `json:"id"`
	TraceStart   timeline.Nanos  `json:"trace_start_ns"` // of the recording, on the clock of Start
	Start        timeline.Nanos  `json:"ts_ns"`
	Latency      timeline.Nanos  `json:"latency_ns"`
	Dropped      bool            `json:"dropped,omitempty"`
	Delay        *timeline.Nanos `json:"delay_ns"` // nil, as those below, where the recording does not say
	Processing   *timeline.Nanos `json:"processing_ns"`
	Presentation *timeline.Nanos `json:"presentation_ns"`
}

func (in ManyInput) length() timeline.Nanos { return in.Latency }

func (in ManyInput) text() int { return len(in.File) + len(in.Type) + len(in.ID) }

// AddTasks takes in the long tasks of a recording. In the table ManyParts each function or other slice that is among the parts of
// a task has a row: Count is the number of tasks that it is in, Self its time in them, Total and Blocking are theirs, and Lengths are those of
// its self time in one task. Shares are parts of the time of all long tasks. The error is one of the temporary file.
func (m *Many) AddTasks(recording string, t *Tasks) error {
	m.Begin(recording)
	rows, all := make([]ManyTask, 0, len(t.Tasks)), timeline.Nanos(0)
	for i := range t.Tasks {
		task := &t.Tasks[i]
		sum(&all, task.Duration)
		row := ManyTask{
			File: recording, ThreadID: task.ThreadID, Basis: task.Basis, Name: strings.Clone(task.Name), TraceStart: t.Start, Start: task.Start,
			Duration: task.Duration, Blocking: task.Blocking, CPU: task.CPU,
		}
		row.Process, row.Thread = strings.Clone(row.Process), strings.Clone(row.Thread) // the recording's memory goes
		if len(task.Parts) > 0 {
			most := task.Parts[0]
			row.Most = &most
		}
		rows = append(rows, row)
		for k := range task.Parts {
			part := &task.Parts[k]
			r := m.add(manyKey{ManyParts, part.Name, part.Location, part.Category}, 1, part.Self, task.Duration)
			if r.Blocking == nil {
				r.Blocking = new(timeline.Nanos)
			}
			sum(r.Blocking, task.Blocking)
			if err := m.addLengthOf(r, part.Self); err != nil {
				return err
			}
		}
	}
	m.EndTable(all)
	m.Tasks.add(rows)
	sum(&m.Blocking, t.Blocking)
	sumInt(&m.UncountedTasks, t.Uncounted)
	return nil
}

// inputParts are the latency of an input and the three parts of it, in the order in which people see them.
var inputParts = []string{"latency", "delay", "processing", "presentation"}

// AddInputs takes in the inputs of a recording. In the table ManyKinds each kind of input has a row for its latency and for each of the
// three parts of it, by Place: Count is the number of inputs of which the recording says it. Shares are parts of the
// latencies of all inputs. The error is one of the temporary file.
func (m *Many) AddInputs(recording string, inputs *Inputs) error {
	m.Begin(recording)
	rows, all := make([]ManyInput, 0, len(inputs.Inputs)), timeline.Nanos(0)
	for i := range inputs.Inputs {
		in := &inputs.Inputs[i]
		sum(&all, in.Latency)
		rows = append(rows, ManyInput{
			File: recording, Kind: in.Kind, Type: strings.Clone(in.Type), ID: in.ID, TraceStart: inputs.Start, Start: in.Start, Latency: in.Latency,
			Dropped: in.Dropped, Delay: in.Delay, Processing: in.Processing, Presentation: in.Presentation,
		})
		for k, length := range []*timeline.Nanos{&in.Latency, in.Delay, in.Processing, in.Presentation} {
			if length == nil {
				continue
			}
			r := m.add(manyKey{table: ManyKinds, name: string(in.Kind), place: inputParts[k]}, 1, *length, *length)
			if err := m.addLengthOf(r, *length); err != nil {
				return err
			}
		}
	}
	m.EndTable(all)
	m.Inputs.add(rows)
	for kind, n := range inputs.Omitted {
		if m.Omitted == nil {
			m.Omitted = map[InputKind]int64{}
		}
		m.Omitted[kind] += n
	}
	return nil
}

// InputRows returns the rows of the table ManyKinds: kinds of inputs by name, of each the latency and then its parts.
func (m *Many) InputRows() []ManyRow {
	rows := m.Rows(ManyKinds)
	slices.SortStableFunc(rows, func(a, b ManyRow) int {
		return cmp.Or(cmp.Compare(slices.Index(InputKinds(), InputKind(a.Name)), slices.Index(InputKinds(), InputKind(b.Name))),
			cmp.Compare(slices.Index(inputParts, a.Place), slices.Index(inputParts, b.Place)))
	})
	return rows
}
