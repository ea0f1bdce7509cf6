package timeline

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
)

// runs are the sorted runs on disk: one file for all records, one for all payloads.
type runs struct {
	records, payloads *extsort.File
	starts            []int64 // of each run in records
}

func newRuns(dir string) (*runs, error) {
	records, err := extsort.NewFile(dir)
	if err != nil {
		return nil, err
	}
	payloads, err := extsort.NewFile(dir)
	if err != nil {
		return nil, errors.Join(err, records.Close())
	}
	return &runs{records: records, payloads: payloads}, nil
}

// write appends the records of m, which is sorted, as a run. The payload of a record on disk is its offset and length in
// the file of payloads.
func (r *runs) write(m *memory) error {
	r.starts = append(r.starts, r.records.Size())
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
		if _, err := r.records.Write(extsort.Bytes(rec)); err != nil {
			return err
		}
	}
	return nil
}

// merge makes the runs a store, which takes them over. Their payloads stay where they are. The records are merged by the
// first pass, which writes all of them anyhow.
func (r *runs) merge(opts Options) (*disk, error) {
	d := &disk{dir: opts.TempDir, payloads: newPayloadReader(r.payloads, len(r.starts)), runs: len(r.starts)}
	readers, err := r.readers(opts)
	if err != nil {
		return nil, err
	}
	return d, d.merge(readers, 0, r.records)
}

// pendingRuns are sorted records in files that wait for being merged.
type pendingRuns struct {
	merger *extsort.Merger[record]
	shift  uint64 // of the payloads of records that Extend added
	files  []*extsort.File
}

// merge makes sorted sequences, which are in the given files, the records of the store; the payloads of those that Extend
// added have moved by shift.
func (d *disk) merge(readers []*bufio.Reader, shift uint64, files ...*extsort.File) error {
	m, err := extsort.NewMerger(readers, byTime)
	if err != nil {
		return err
	}
	d.records, d.pending, d.count = nil, &pendingRuns{merger: m, shift: shift, files: files}, 0
	for _, f := range files {
		d.count += int(f.Size() / recordSize)
	}
	if first := m.Peek(); first != nil {
		d.start = first.ts
	}
	return nil
}

// groups calls fn for the records of one timestamp after the other. It can be done once.
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
		err = errors.Join(err, f.Close())
	}
	return err
}

func byTime(x, y *record) int { return cmp.Compare(x.ts, y.ts) }

// readers returns a reader for the records of each run. All is written then.
func (r *runs) readers(opts Options) ([]*bufio.Reader, error) {
	if err := errors.Join(r.records.Flush(), r.payloads.Flush()); err != nil {
		return nil, err
	}
	return runReaders(r.records, r.starts, opts), nil
}

// runReaders returns a reader for each run in a file that is written.
func runReaders(f *extsort.File, starts []int64, opts Options) []*bufio.Reader {
	readers := make([]*bufio.Reader, len(starts))
	each := min(max(opts.Memory/4/int64(max(len(starts), 1)), 8<<10), 256<<10)
	for i, start := range starts {
		end := f.Size()
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		readers[i] = bufio.NewReaderSize(f.Section(start, end-start), int(each))
	}
	return readers
}

func (r *runs) close() error { return errors.Join(r.records.Close(), r.payloads.Close()) }
