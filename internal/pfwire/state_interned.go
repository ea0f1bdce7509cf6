package pfwire

import (
	"fmt"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// InternedKind is a table of interned data: its field number in InternedData (perfetto.md 2).
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
	InternedHistogramNames    InternedKind = 25
	InternedValueTypeNames    InternedKind = schema.InternedData_DebugAnnotationValueTypeNames
	InternedStringValues      InternedKind = schema.InternedData_DebugAnnotationStringValues
	InternedCorrelationIDs    InternedKind = schema.InternedData_CorrelationIDStr
	InternedTaskContexts      InternedKind = schema.InternedData_StackSampleTaskContexts
	InternedExecutionContexts InternedKind = schema.InternedData_StackSampleExecutionContexts
	InternedSampleCounters    InternedKind = schema.InternedData_StackSampleCounterDescriptors
	InternedAsyncContexts     InternedKind = schema.InternedData_StackSampleAsyncContextDescriptors
)

// numInternedKinds is the size of an array indexed by InternedKind.
const numInternedKinds = 64

// internedText marks the tables whose entries are a text (field 2); of the others the whole entry is kept.
var internedText = [numInternedKinds]bool{
	InternedCategories: true, InternedEventNames: true, InternedAnnotationNames: true, InternedFunctionNames: true,
	InternedBuildIDs: true, InternedMappingPaths: true, InternedSourcePaths: true, InternedLogMessages: true,
	InternedHistogramNames: true, InternedValueTypeNames: true, InternedStringValues: true, InternedCorrelationIDs: true,
}

// Interned holds the interned data of a sequence since it last started anew.
type Interned struct {
	tables [numInternedKinds]internedTable
}

// internedTable maps the ids of one kind to their entries. Producers count ids up from 1, so most live in a slice.
type internedTable struct {
	dense  [][]byte
	sparse map[uint64][]byte
}

// Text returns the text of an interned id, or the encoded entry of a kind that is no text.
func (t *Interned) Text(kind InternedKind, iid uint64) ([]byte, bool) {
	table := &t.tables[kind]
	if iid < uint64(len(table.dense)) && table.dense[iid] != nil {
		return table.dense[iid], true
	}
	text, ok := table.sparse[iid]
	return text, ok
}

// define enters the entries of an InternedData message. An id that is already defined keeps its meaning, as in Perfetto.
func (t *Interned) define(msg []byte) error {
	r := wire.NewReader(msg)
	for r.Next() {
		kind := r.Field()
		if kind >= numInternedKinds || r.Type() != wire.Len {
			continue
		}
		iid, entry, err := InternedEntry(InternedKind(kind), r.Bytes())
		if err != nil {
			return fmt.Errorf("field %d: %w", kind, err)
		}
		if iid != 0 {
			t.tables[kind].define(iid, entry)
		}
	}
	return r.Err()
}

// InternedEntry reads one entry of a table: its id, and its text or, of a kind that is no text, the whole entry.
func InternedEntry(kind InternedKind, msg []byte) (iid uint64, entry []byte, err error) {
	entry = []byte{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.InternedString_IID:
			iid = r.Uint()
		case schema.InternedString_Str:
			entry = r.Bytes()
		}
	}
	if kind >= numInternedKinds || !internedText[kind] {
		entry = msg
	}
	return iid, entry, r.Err()
}

func (t *internedTable) define(iid uint64, text []byte) {
	n := uint64(len(t.dense))
	if iid < n && t.dense[iid] != nil {
		return
	}
	if _, ok := t.sparse[iid]; ok {
		return
	}
	text = append([]byte{}, text...) // never nil: nil means undefined
	// An id may be a little beyond the slice; one far beyond would let a few bytes of input claim much memory.
	if iid >= n && iid-n < 16+n {
		grown := make([][]byte, iid+1-n)
		t.dense = append(t.dense, grown...)
		n = uint64(len(t.dense))
	}
	if iid < n {
		t.dense[iid] = text
		return
	}
	if t.sparse == nil {
		t.sparse = make(map[uint64][]byte)
	}
	t.sparse[iid] = text
}
