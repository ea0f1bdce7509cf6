package pfwire

import (
	"strconv"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// describeInputID describes the process or thread in the input, for a track that has an assigned id in the output:
//
//	In the input: pid 0, named "python"
//	In the input: tid "18446744073709551616"
//	In the input: called "stream 7"
//
// Numbers beyond 64 bits, and text ids, are quoted as in Go. Programs read the mark instead, see appendInputID.
func describeInputID(tr *timeline.Track) string {
	id := &tr.InputID
	if !id.HasNumber() {
		return "In the input: called " + strconv.Quote(id.Text)
	}
	text := "In the input: pid "
	if tr.Kind == timeline.ThreadTrack {
		text = "In the input: tid "
	}
	if id.Text != "" {
		text += strconv.Quote(id.Text)
	} else {
		text += strconv.FormatInt(id.Num, 10)
	}
	if tr.Name != "" {
		text += ", named " + strconv.Quote(tr.Name)
	}
	return text
}

// appendInputID appends the id and name that a process or thread has in the input to its mark.
func appendInputID(b []byte, tr *timeline.Track) []byte {
	b, m := wire.BeginMessage(b, schema.WeftTrackMark_InputID)
	if tr.InputID.Text == "" {
		b = wire.AppendInt(b, schema.WeftInputID_Number, tr.InputID.Num)
	} else {
		b = wire.AppendString(b, schema.WeftInputID_Text, tr.InputID.Text)
	}
	if tr.InputID.IsNumber {
		b = wire.AppendUint(b, schema.WeftInputID_TextIsNumber, 1)
	}
	if tr.Name != "" && tr.InputID.HasNumber() {
		b = wire.AppendString(b, schema.WeftInputID_Name, tr.Name)
	}
	return wire.EndMessage(b, m)
}

// pidLabel returns the label of a process with an assigned number, for people who look for the number in the input. It returns ""
// if the id in the input is not a number, or if the assigned number shows it.
func pidLabel(id timeline.InputID, pid int32) string {
	if !id.HasNumber() || id.SeenIn(int64(pid)) {
		return ""
	}
	return "pid " + id.String()
}

// WithoutPIDLabel returns the labels of a process in a trace that weft wrote, except the label that the writer appended.
func WithoutPIDLabel(labels [][]byte, id timeline.InputID, pid int32) [][]byte {
	if n := len(labels); n > 0 && string(labels[n-1]) == pidLabel(id, pid) {
		return labels[:n-1]
	}
	return labels
}
