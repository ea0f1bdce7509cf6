package timeline

import (
	"cmp"
	"encoding/binary"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
)

// runs holds sorted runs on disk: one file for all records and one for all payloads.
type runs struct {
	records  *recordFile
	payloads *extsort.File
	starts   []int // number of the first record of each run
}

func newRuns(dir string) (*runs, error) {
	records, err := newRecordFile(dir)
	if err != nil {
		return nil, err
	}
	payloads, err := extsort.NewFile(dir)
	if err != nil {
		return nil, errors.Join(err, records.close())
	}
	return &runs{records: records, payloads: payloads}, nil
}

// write appends the records of m, which must be sorted, as a run. On disk, a record's payload field is the position of the
// payload's length and data in the payload file.
func (r *runs) write(m *memory) error {
	r.starts = append(r.starts, r.records.count)
	rec := new(record)
	length := make([]byte, binary.MaxVarintLen64)
	for _, i := range m.order {
		*rec = *m.at(i)
		if rec.flags&flagPayload != 0 {
			text := m.payloadAt(rec.payload)
			w := binary.PutUvarint(length, uint64(len(text)))
			rec.payload = uint64(r.payloads.Size()) + 1
			if _, err := r.payloads.Write(length[:w]); err != nil {
				return err
			}
			if _, err := r.payloads.Write(text); err != nil {
				return err
			}
		}
		if err := r.records.add(rec); err != nil {
			return err
		}
	}
	return nil
}

// merge converts the runs to a store, which takes over their files. Payloads stay where they are. The first pass merges the
// records, because it writes all records anyway.
func (r *runs) merge(opts Options) (*disk, error) {
	d := &disk{dir: opts.TempDir, payloads: newPayloadReader(r.payloads, len(r.starts)), runs: len(r.starts)}
	sequences, err := r.sequences(opts)
	if err != nil {
		return nil, err
	}
	if err := d.merge(sequences, 0, r.records); err != nil {
		return nil, err
	}
	return d, nil
}

// pendingRuns holds sorted records in files, to be merged by the next pass.
type pendingRuns struct {
	merger *extsort.Merger[record]
	shift  uint64 // added to payload positions of records from Extend
	files  []*recordFile
}

// merge replaces the store's records with the sorted sequences, which are in the given files. shift is added to the payload
// positions of records from Extend.
func (d *disk) merge(sequences []extsort.Sequence[record], shift uint64, files ...*recordFile) error {
	m, err := extsort.NewMerger(sequences, byTime)
	if err != nil {
		return err
	}
	d.records, d.pending, d.count = nil, &pendingRuns{merger: m, shift: shift, files: files}, 0
	for _, f := range files {
		d.count += f.count
	}
	return nil
}

// groups calls fn for the records of each timestamp, in order. It can be called only once.
func (p *pendingRuns) groups(fn func(g *group) error) error {
	c := grouper{fn: fn}
	var r record
	for {
		ok, err := p.merger.Next(&r)
		if err != nil {
			return err
		}
		if !ok {
			return c.flush()
		}
		if r.flags&flagDerived != 0 && r.flags&flagPayload != 0 {
			r.payload += p.shift
		}
		if err := c.add(&r); err != nil {
			return err
		}
	}
}

func (p *pendingRuns) close() (err error) {
	for _, f := range p.files {
		err = errors.Join(err, f.close())
	}
	return err
}

// byTime orders records by time. Simultaneous records stay in the order of the runs.
func byTime(x, y *record) int { return cmp.Compare(x.ts, y.ts) }

// sequences flushes the files and returns the records of each run.
func (r *runs) sequences(opts Options) ([]extsort.Sequence[record], error) {
	if err := errors.Join(r.records.flush(), r.payloads.Flush()); err != nil {
		return nil, err
	}
	each := opts.Memory / 4 / int64(max(len(r.starts), 1))
	var all []extsort.Sequence[record]
	for i, start := range r.starts {
		end := r.records.count
		if i+1 < len(r.starts) {
			end = r.starts[i+1]
		}
		all = append(all, r.records.reader(start, end-start, each))
	}
	return all, nil
}

func (r *runs) close() error { return errors.Join(r.records.close(), r.payloads.Close()) }
