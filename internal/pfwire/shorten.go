package pfwire

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// partKind is the kind of a part of a packet, which determines how it is shortened.
type partKind uint8

const (
	fixedPart  partKind = iota // a number is kept; a message or blob is dropped if it is too large
	spareParts                 // one of many numbers; the last ones can be dropped
	textPart
	spareTexts // one of many
	packetPart
	eventPart
	annotationParts // one of many
	internedPart
	entryPart // entry of interned data
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

// isSpare reports whether a part can have many instances, so that the last ones can be dropped.
func (k partKind) isSpare() bool {
	switch k {
	case spareParts, spareTexts, annotationParts, factParts, attributeParts, pageParts:
		return true
	}
	return false
}

// isMessage reports whether a part consists of smaller parts.
func (k partKind) isMessage() bool { return k >= packetPart }

// partsOf maps the fields of each kind of message to their kinds; other fields are fixed.
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
	// maxShortenDepth limits how deeply nested parts are shortened. Arguments are not nested deeper (arg_depth_limit).
	maxShortenDepth = 600
	// largePart is the minimum size of a part that can be shortened; smaller ones are kept or dropped.
	largePart = 1 << 10
	// minPart is the size below which a message is dropped rather than shortened.
	minPart = 96
	// headRoom is the maximum size of the tag and length of a part, markRoom the maximum size of the mark of an omission.
	headRoom = 10
	markRoom = 80
)

// shortenPackets appends the packets in b, which are encoded fields of a trace, to dst. Packets of more than limit bytes are
// shortened: in their largest parts, texts are truncated and excess parts dropped, and both are marked. It returns how many
// packets were shortened.
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

// shortenMessage appends a message of the given kind, shortened to at most room bytes.
func shortenMessage(dst, msg []byte, kind partKind, room, depth int) []byte {
	parts := partsOf[kind]
	share, fixed := divide(msg, parts, room-markRoom)
	from, dropped, last := len(dst), uint64(0), 0
	for r := wire.NewReader(msg); r.Next(); {
		part := parts[r.Field()]
		before := len(dst)
		if len(r.Raw()) <= share {
			dst = append(dst, r.Raw()...)
		} else {
			dst = shortenPart(dst, &r, part, share, depth)
		}
		if part.isSpare() && len(dst)-from > room-markRoom-fixed {
			dst = dst[:before]
		}
		if len(dst) == before {
			dropped, last = dropped+1, r.Field()
		}
		if !part.isSpare() {
			fixed -= min(len(r.Raw()), share)
		}
	}
	return appendDropped(dst, kind, last, dropped)
}

// divide returns the limit for each part of a message so that all of them fit, and the total size of the parts that are not
// spare. If there are too many parts, the limit is small, and the last spare parts do not fit.
func divide(msg []byte, parts map[int]partKind, room int) (share, fixed int) {
	large, small := []int(nil), 0
	from := min(largePart, max(room/16, minPart)) // minimum size of a large part
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
			fixed += min(len(r.Raw()), share)
		}
	}
	return share, fixed
}

// shortenPart appends a field, shortened to at most share bytes.
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

// shortenText returns the start of a text, followed by a mark with its full length.
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

// appendDropped adds the number of dropped parts to an event or an argument. The parameter last is the field number of the last
// dropped part.
func appendDropped(b []byte, kind partKind, last int, n uint64) []byte {
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
