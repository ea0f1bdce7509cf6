package message

import (
	"fmt"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// InternedKind identifies a table of interned data by its field number in InternedData (perfetto.md 2).
type InternedKind int

// The tables that weft reads.
const (
	InternedCategories        InternedKind = schema.InternedData_EventCategories
	InternedEventNames        InternedKind = schema.InternedData_EventNames
	InternedAnnotationNames   InternedKind = schema.InternedData_DebugAnnotationNames
	InternedSourceLocations   InternedKind = schema.InternedData_SourceLocations
	InternedFunctionNames     InternedKind = schema.InternedData_FunctionNames
	InternedFrames            InternedKind = schema.InternedData_Frames
	InternedCallstacks        InternedKind = schema.InternedData_Callstacks
	InternedBuildIDs          InternedKind = schema.InternedData_BuildIDs
	InternedMappingPaths      InternedKind = schema.InternedData_MappingPaths
	InternedSourcePaths       InternedKind = schema.InternedData_SourcePaths
	InternedMappings          InternedKind = schema.InternedData_Mappings
	InternedLogMessages       InternedKind = schema.InternedData_LogMessageBody
	InternedValueTypeNames    InternedKind = schema.InternedData_DebugAnnotationValueTypeNames
	InternedStringValues      InternedKind = schema.InternedData_DebugAnnotationStringValues
	InternedCorrelationIDs    InternedKind = schema.InternedData_CorrelationIDStr
	InternedTaskContexts      InternedKind = schema.InternedData_StackSampleTaskContexts
	InternedExecutionContexts InternedKind = schema.InternedData_StackSampleExecutionContexts
	InternedSampleCounters    InternedKind = schema.InternedData_StackSampleCounterDescriptors
	InternedAsyncContexts     InternedKind = schema.InternedData_StackSampleAsyncContextDescriptors
)

// NumInternedKinds is the size of an array indexed by InternedKind.
const NumInternedKinds = InternedAsyncContexts + 1

// entryForm is the form of a table's entries.
type entryForm uint8

const (
	noTable entryForm = iota
	textEntry
	wholeEntry // a message
)

var entryForms = [NumInternedKinds]entryForm{
	InternedCategories: textEntry, InternedEventNames: textEntry, InternedAnnotationNames: textEntry, InternedFunctionNames: textEntry,
	InternedBuildIDs: textEntry, InternedMappingPaths: textEntry, InternedSourcePaths: textEntry, InternedLogMessages: textEntry,
	InternedValueTypeNames: textEntry, InternedStringValues: textEntry, InternedCorrelationIDs: textEntry,

	InternedSourceLocations: wholeEntry, InternedFrames: wholeEntry, InternedCallstacks: wholeEntry, InternedMappings: wholeEntry,
	InternedTaskContexts: wholeEntry, InternedExecutionContexts: wholeEntry, InternedSampleCounters: wholeEntry,
	InternedAsyncContexts: wholeEntry,
}

// InternedData iterates over the entries of an InternedData message in the tables that weft reads.
type InternedData struct {
	Kind  InternedKind
	IID   uint64 // 0: missing
	Entry []byte // the text, or the whole entry if the table has no texts; not nil

	r   wire.Reader
	err error
}

// NewInternedData returns an InternedData positioned before its first entry.
func NewInternedData(msg []byte) InternedData { return InternedData{r: wire.NewReader(msg)} }

// Next advances to the next entry.
func (d *InternedData) Next() bool {
	for d.err == nil && d.r.Next() {
		field := d.r.Field()
		if field >= len(entryForms) || entryForms[field] == noTable || d.r.Type() != wire.Len {
			continue
		}
		d.Kind = InternedKind(field)
		if d.err = d.parseEntry(d.r.Bytes()); d.err != nil {
			d.err = fmt.Errorf("field %d: %w", field, d.err)
			return false
		}
		return true
	}
	return false
}

// Err returns the error that stopped Next, if any.
func (d *InternedData) Err() error {
	if d.err != nil {
		return d.err
	}
	return d.r.Err()
}

// parseEntry decodes an entry. The id, and the text if there is one, have the same field numbers in all tables.
func (d *InternedData) parseEntry(msg []byte) error {
	d.IID, d.Entry = 0, msg
	text := []byte{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.InternedString_IID:
			d.IID = r.Uint()
		case schema.InternedString_Str:
			text = r.Bytes()
		}
	}
	if entryForms[d.Kind] == textEntry {
		d.Entry = text
	}
	return r.Err()
}

// InternedOf returns the entries of one table in an InternedData message.
func InternedOf(msg []byte, kind InternedKind) List { return newList(msg, int(kind)) }
