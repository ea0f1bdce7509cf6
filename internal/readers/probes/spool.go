package probes

import (
	"github.com/weft-trace/weft/internal/extsort"
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

// hold puts a record into the spool.
func (r *reader) hold(rec *record, payload []byte) error {
	r.latestTS = max(r.latestTS, rec.ts)
	return r.spool.Add(rec, payload)
}
