package pfwire

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// part of a packet that may be made smaller, by what it consists of.
type partKind uint8

const (
	fixedPart  partKind = iota // a number, which stays; a message or blob, which is left out if it is too large
	spareParts                 // one of many numbers, of which the last ones may be left out
	textPart
	spareTexts // one of many
	packetPart
	eventPart
	annotationParts // one of many
	internedPart
	entryPart // of interned data
	descriptorPart
	processPart
	threadPart
	counterPart
	markPart
	inputIDPart
	factParts // one of many
	attributesPart
	attributeParts // one of many
	pageParts      // one of many
	systemPart
)

// isSpare reports whether there may be many of a part, so that the last ones may be left out.
func (k partKind) isSpare() bool {
	switch k {
	case spareParts, spareTexts, annotationParts, factParts, attributeParts, pageParts:
		return true
	}
	return false
}

// isMessage reports whether a part has parts.
func (k partKind) isMessage() bool { return k >= packetPart }

// partsOf gives the kinds of the fields of messages; others are fixed.
var partsOf = map[partKind]map[int]partKind{
	packetPart: {
		schema.TracePacket_TrackEvent: eventPart, schema.TracePacket_WeftIdle: eventPart, schema.TracePacket_WeftFolded: eventPart, schema.TracePacket_InternedData: internedPart,
		schema.TracePacket_TrackDescriptor: descriptorPart, schema.TracePacket_TraceAttributes: attributesPart, schema.TracePacket_SystemInfo: systemPart,
	},
	eventPart: {
		schema.TrackEvent_Name: textPart, schema.TrackEvent_Categories: spareTexts, schema.TrackEvent_DebugAnnotations: annotationParts,
		schema.TrackEvent_CorrelationIDStr: textPart, schema.TrackEvent_FlowIDs: spareParts, schema.TrackEvent_TerminatingFlowIDs: spareParts,
	},
	annotationParts: {
		schema.DebugAnnotation_Name: textPart, schema.DebugAnnotation_StringValue: textPart, schema.DebugAnnotation_LegacyJSONValue: textPart,
		schema.DebugAnnotation_DictEntries: annotationParts, schema.DebugAnnotation_ArrayValues: annotationParts,
	},
	internedPart: {
		schema.InternedData_EventCategories: entryPart, schema.InternedData_EventNames: entryPart, schema.InternedData_DebugAnnotationNames: entryPart,
		schema.InternedData_FunctionNames: entryPart, schema.InternedData_MappingPaths: entryPart, schema.InternedData_SourcePaths: entryPart,
		schema.InternedData_DebugAnnotationStringValues: entryPart, schema.InternedData_CorrelationIDStr: entryPart,
	},
	entryPart: {schema.InternedString_Str: textPart},
	descriptorPart: {
		schema.TrackDescriptor_Name: textPart, schema.TrackDescriptor_Description: textPart, schema.TrackDescriptor_SiblingMergeKey: textPart,
		schema.TrackDescriptor_Process: processPart, schema.TrackDescriptor_Thread: threadPart, schema.TrackDescriptor_Counter: counterPart,
		schema.TrackDescriptor_WeftMark: markPart,
	},
	processPart:    {schema.ProcessDescriptor_ProcessName: textPart, schema.ProcessDescriptor_ProcessLabels: spareTexts},
	threadPart:     {schema.ThreadDescriptor_ThreadName: textPart},
	counterPart:    {schema.CounterDescriptor_UnitName: textPart, schema.CounterDescriptor_YAxisShareKey: textPart},
	markPart:       {schema.WeftTrackMark_Subject: textPart, schema.WeftTrackMark_InputID: inputIDPart, schema.WeftTrackMark_Facts: factParts, schema.WeftTrackMark_IDSpace: textPart},
	inputIDPart:    {schema.WeftInputID_Text: textPart, schema.WeftInputID_Name: textPart},
	factParts:      {schema.WeftFact_Text: textPart},
	attributesPart: {schema.TraceAttributes_Attribute: attributeParts, schema.TraceAttributes_WeftPages: pageParts},
	attributeParts: {schema.TraceAttributesAttribute_Key: textPart, schema.TraceAttributesAttribute_StringValue: textPart},
	pageParts:      {schema.WeftPage_URL: textPart, schema.WeftPage_IDSpace: textPart},
	systemPart:     {schema.SystemInfo_MachineName: textPart},
}

const (
	// maxShortenDepth bounds how deep parts of parts are made smaller. Arguments are not nested deeper (arg_depth_limit).
	maxShortenDepth = 600
	// largePart is the size from which a part may be shortened, if nothing else says so. Smaller ones stay, or are left out.
	largePart = 1 << 10
	// minPart is the size below which a message is left out rather than shortened.
	minPart = 96
	// headRoom is what the tag and the length of a part take at most, and markRoom what the mark of an omission takes.
	headRoom = 10
	markRoom = 80
)

// shortenPackets appends the packets in b, which are encoded fields of a trace, to dst. One that takes more than limit bytes is made
// smaller: its largest parts are, texts cut and what does not fit left out; both say so. It returns how many it made smaller.
func shortenPackets(dst, b []byte, limit int) (_ []byte, shortened uint64) {
	for r := wire.NewReader(b); r.Next(); {
		if len(r.Bytes()) <= limit {
			dst = append(dst, r.Raw()...)
			continue
		}
		shortened++
		b, packet := wire.BeginMessage(dst, schema.Trace_Packet)
		if b = shortenMessage(b, r.Bytes(), packetPart, limit, 0); len(b)-packet <= limit {
			dst = wire.EndMessage(b, packet)
		}
	}
	return dst, shortened
}

// shortenMessage appends a message of a kind, of which at most room bytes stay.
func shortenMessage(dst, msg []byte, kind partKind, room, depth int) []byte {
	parts := partsOf[kind]
	share, kept := divide(msg, parts, room-markRoom)
	from, left, last := len(dst), uint64(0), 0
	for r := wire.NewReader(msg); r.Next(); {
		part := parts[r.Field()]
		before := len(dst)
		if len(r.Raw()) <= share {
			dst = append(dst, r.Raw()...)
		} else {
			dst = shortenPart(dst, &r, part, share, depth)
		}
		if part.isSpare() && len(dst)-from > room-markRoom-kept {
			dst = dst[:before]
		}
		if len(dst) == before {
			left, last = left+1, r.Field()
		}
		if !part.isSpare() {
			kept -= min(len(r.Raw()), share)
		}
	}
	return appendLeftOut(dst, kind, last, left)
}

// divide returns how many bytes each part of a message may have so that all have room, and how many of the parts that cannot be spared
// take then. If there are too many for that, each may have a few, and the last of those that can be spared have no room.
func divide(msg []byte, parts map[int]partKind, room int) (share, kept int) {
	large, small := []int(nil), 0
	from := min(largePart, max(room/16, minPart)) // of the size of large ones
	for r := wire.NewReader(msg); r.Next(); {
		if n := len(r.Raw()); n < from {
			small += n
		} else {
			large = append(large, n)
		}
	}
	slices.Sort(large)
	rest := room - small
	share = from
	for i, n := range large {
		if s := rest / (len(large) - i); n > s {
			share = max(s, from)
			break
		}
		rest -= n
		share = n
	}
	for r := wire.NewReader(msg); r.Next(); {
		if !parts[r.Field()].isSpare() {
			kept += min(len(r.Raw()), share)
		}
	}
	return share, kept
}

// shortenPart appends a field that takes at most share bytes.
func shortenPart(dst []byte, r *wire.Reader, kind partKind, share, depth int) []byte {
	switch {
	case kind == textPart || kind == spareTexts:
		return wire.AppendBytes(dst, r.Field(), shortenText(r.Bytes(), share-headRoom))
	case !kind.isMessage() || depth == maxShortenDepth || share < minPart+headRoom:
		return dst
	}
	dst, mark := wire.BeginMessage(dst, r.Field())
	return wire.EndMessage(shortenMessage(dst, r.Bytes(), kind, share-headRoom, depth+1), mark)
}

// shortenText returns the start of a text, and how much is missing.
func shortenText(text []byte, room int) []byte {
	mark := fmt.Sprintf("… (weft cut this text of %d bytes)", len(text))
	if room < 2*len(mark) {
		mark = "…"
	}
	n := max(room-len(mark), 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return append(text[:n:n], mark...)
}

// appendLeftOut says in an event or an argument how many of its parts are left out; the last one is a field of the number last.
func appendLeftOut(b []byte, kind partKind, last int, n uint64) []byte {
	remark := fmt.Sprintf("… (weft left out %d values)", n)
	switch {
	case n == 0:
		return b
	case kind == eventPart:
		last = schema.TrackEvent_DebugAnnotations
	case kind != annotationParts:
		return b
	case last != schema.DebugAnnotation_DictEntries && last != schema.DebugAnnotation_ArrayValues:
		return wire.AppendString(b, schema.DebugAnnotation_StringValue, remark)
	}
	b, m := wire.BeginMessage(b, last)
	if last != schema.DebugAnnotation_ArrayValues {
		b = wire.AppendString(b, schema.DebugAnnotation_Name, "weft_left_out")
	}
	return wire.EndMessage(wire.AppendString(b, schema.DebugAnnotation_StringValue, remark), m)
}
