package probes

import (
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// record is a probe firing, or a loss. Its unread arguments are the payload in the spool.
type record struct {
	ts     timeline.Nanos
	offset int64  // position of its line
	event  uint32 // number of the record in the input
	thread uint32 // index into reader.threadList
	probe  uint32 // index into reader.probeList
	form   form
}

// form is the form of a record's payload.
type form uint8

const (
	formBare   form = iota // no arguments
	formFields             // unconverted fields separated by tabs
	formTuple              // fields with their kind and length
	formLoss               // the number of lost events
)

var recordForm = extsort.FormOf[record]()

func (r *reader) store(rec *record, payload []byte) error {
	r.latestTS = max(r.latestTS, rec.ts)
	return r.spool.Add(rec, payload)
}
