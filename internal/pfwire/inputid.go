package pfwire

import (
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// A process or thread with a made-up number says in the description of its track what it is in the input:
//
//	In the input: pid 0, named "python"
//	In the input: tid "18446744073709551616"
//	In the input: called "stream 7"
//
// Numbers beyond 64 bits, and texts that are ids, are quoted as in Go. The name is that of the input; the one in the
// descriptor may say more.
const (
	inputIDPrefix = "In the input: "
	inputIDText   = "called "
	inputIDName   = ", named "
)

// inputIDKind is the word before the number of a process or thread.
func inputIDKind(kind timeline.TrackKind) string {
	if kind == timeline.ThreadTrack {
		return "tid "
	}
	return "pid "
}

// describeInputID returns the description of a process or thread with a made-up number.
func describeInputID(tr *timeline.Track) string {
	id := &tr.InputID
	if !id.HasNumber() {
		return inputIDPrefix + inputIDText + strconv.Quote(id.Text)
	}
	text := inputIDPrefix + inputIDKind(tr.Kind)
	if id.Text != "" {
		text += strconv.Quote(id.Text)
	} else {
		text += strconv.FormatInt(id.Num, 10)
	}
	if tr.Name != "" {
		text += inputIDName + strconv.Quote(tr.Name)
	}
	return text
}

// ParseInputID reads the description of a process or thread in a trace of weft: the id and the name that it has in the
// input. It is not ok if the description is of another form: then the number in the descriptor is that of the input.
func ParseInputID(kind timeline.TrackKind, description string) (id timeline.InputID, name string, ok bool) {
	rest, ok := strings.CutPrefix(description, inputIDPrefix)
	if !ok {
		return id, "", false
	}
	if quoted, ok := strings.CutPrefix(rest, inputIDText); ok {
		text, err := strconv.Unquote(quoted)
		return timeline.InputID{Text: text}, text, err == nil && text != ""
	}
	if rest, ok = strings.CutPrefix(rest, inputIDKind(kind)); !ok {
		return id, "", false
	}
	number := rest
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		number = quoted
		id.Text, _ = strconv.Unquote(quoted)
		id.IsNumber, ok = true, id.Text != ""
	} else {
		number, _, _ = strings.Cut(rest, ",")
		id.Num, err = strconv.ParseInt(number, 10, 64)
		ok = err == nil
	}
	if rest = rest[len(number):]; rest != "" && ok {
		quoted, named := strings.CutPrefix(rest, inputIDName)
		text, err := strconv.Unquote(quoted)
		name, ok = text, named && err == nil
	}
	return id, name, ok
}

// pidLabel is the label of a process with a made-up number, for those who look for the number of the input.
func pidLabel(id timeline.InputID) string {
	if !id.HasNumber() {
		return ""
	}
	return "pid " + id.String()
}

// WithoutPIDLabel returns the labels of a process in a trace of weft without the one that the writer has added, which is the
// last.
func WithoutPIDLabel(labels [][]byte, id timeline.InputID) [][]byte {
	if n := len(labels); n > 0 && string(labels[n-1]) == pidLabel(id) {
		return labels[:n-1]
	}
	return labels
}
