package eventstream

import (
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// AppendJSON appends the header as a JSON object with the field names of weft.v1.Header; attributes become an object.
func (h *Header) AppendJSON(b []byte) []byte {
	b = jsonscan.AppendString(append(b, `{"magic":`...), Magic)
	b = appendMember(b, `,"weft_version":`, h.WeftVersion)
	b = strconv.AppendInt(append(b, `,"revision":`...), Revision, 10)
	b = appendList(b, `,"inputs":`, h.Inputs, func(b []byte, in *Input) []byte {
		b = appendMember(b, `,"name":`, in.Name)
		b = appendMember(b, `,"format":`, in.Format)
		b = appendNumber(b, `,"bytes":`, in.Bytes)
		return appendMember(b, `,"sha256":`, in.SHA256)
	})
	if name := clockName(h.Clock.Trace); name != "" || len(h.Clock.Readings) > 0 {
		b = appendObject(append(b, `,"clock":`...), func(b []byte) []byte {
			b = appendMember(b, `,"name":`, name)
			return appendList(b, `,"readings":`, h.Clock.Readings, func(b []byte, r *timeline.ClockReading) []byte {
				b = appendMember(b, `,"name":`, clockName(r.Clock))
				return strconv.AppendInt(append(b, `,"time_ns":`...), int64(r.Time), 10)
			})
		})
	}
	for i, option := range h.Options {
		b = jsonscan.AppendString(append(b, [2]string{`,"options":[`, ","}[min(i, 1)]...), option)
	}
	if len(h.Options) > 0 {
		b = append(b, ']')
	}
	if len(h.Attributes) > 0 {
		b = appendObject(append(b, `,"attributes":`...), func(b []byte) []byte {
			for i := range h.Attributes {
				a := &h.Attributes[i]
				b = append(jsonscan.AppendString(append(b, ','), a.Key), ':')
				if a.IsInt {
					b = strconv.AppendInt(b, a.Int, 10)
				} else {
					b = jsonscan.AppendString(b, truncateText([]byte(a.Text), maxAttribute))
				}
			}
			return b
		})
	}
	b = appendMember(b, `,"stream_id":`, h.StreamID())
	return append(b, '}')
}

// AppendJSON appends the footer as a JSON object with the field names of weft.v1.Footer.
func (f *Footer) AppendJSON(b []byte) []byte {
	return appendObject(b, func(b []byte) []byte {
		var counts []resolved.Kind
		for kind, n := range f.Events {
			if n > 0 {
				counts = append(counts, resolved.Kind(kind))
			}
		}
		b = appendList(b, `,"events":`, counts, func(b []byte, kind *resolved.Kind) []byte {
			b = appendMember(b, `,"kind":`, kind.String())
			return appendNumber(b, `,"count":`, f.Events[*kind])
		})
		b = strconv.AppendInt(append(b, `,"first_ns":`...), int64(f.First), 10)
		b = strconv.AppendInt(append(b, `,"last_ns":`...), int64(f.Last), 10)
		b = appendList(b, `,"problems":`, f.Problems, func(b []byte, p *Problem) []byte {
			b = appendMember(b, `,"name":`, p.Name)
			b = appendMember(b, `,"severity":`, p.Severity)
			return appendNumber(b, `,"count":`, p.Count)
		})
		b = strconv.AppendBool(append(b, `,"complete":`...), f.Complete)
		return appendNumber(b, `,"left_out":`, f.LeftOut)
	})
}

// appendList appends a list of objects unless it is empty.
func appendList[T any](b []byte, name string, list []T, members func([]byte, *T) []byte) []byte {
	for i := range list {
		if i == 0 {
			b = append(append(b, name...), '[')
		} else {
			b = append(b, ',')
		}
		b = appendObject(b, func(b []byte) []byte { return members(b, &list[i]) })
	}
	if len(list) > 0 {
		b = append(b, ']')
	}
	return b
}
