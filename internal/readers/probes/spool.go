package probes

import (
	"cmp"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// record is a firing of a probe, or a loss, before its arguments are read, which are the payload in the spool.
type record struct {
	ts     timeline.Nanos
	offset int64  // of its line
	event  uint32 // number of the record in the input
	thread uint32 // index into reader.threadList
	probe  uint32 // index into reader.probeList
	form   form
}

// form is the form of a record's payload.
type form uint8

const (
	formBare   form = iota // nothing: there are no arguments
	formFields             // fields separated by tabs, as written
	formTuple              // fields with their kind and length
	formLoss               // the number of events that were lost
)

var recordForm = extsort.FormOf[record]()

// newSpool returns a spool of the records, which wait there until all declarations are known.
func newSpool(opts *Options) *readers.Spool[record] {
	limit := cmp.Or(opts.spool, max(opts.Memory/4, minSpool))
	return readers.NewSpool(limit, opts.TempDir, recordForm, func(r *record) int64 { return int64(r.ts) })
}

// hold puts a record into the spool.
func (r *reader) hold(rec *record, payload []byte) error {
	r.latestTS = max(r.latestTS, rec.ts)
	return r.spool.Add(rec, payload)
}
