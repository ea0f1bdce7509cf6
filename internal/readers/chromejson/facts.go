package chromejson

import (
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// An object or list outside the events is split into attributes up to these limits: nesting levels, values, and total
// bytes of keys and values. A larger object or list becomes a single attribute with its JSON text.
const (
	maxFactDepth = 8
	maxFacts     = 256
	maxFactBytes = 64 << 10
)

// facts reads an object or list outside the events and turns its values into attributes of the trace, named after their
// paths (section 4). It skips texts that are too long for an attribute.
func (rd *reader) facts(key string) error {
	at := rd.position()
	kind, text, err := rd.value(readers.MaxAttribute)
	if err != nil {
		return err
	}
	if kind == jsonscan.Invalid {
		rd.log.Add(problem.TopLevelMemberSkipped, at, key)
		return nil
	}
	f := factReader{s: &rd.sub, seen: map[string]bool{}}
	rd.sub.Reset(text)
	kind, _ = rd.sub.Value()
	f.members(key, kind, 1)
	if f.failed || rd.sub.Err() != nil {
		rd.b.SetAttribute(key, string(rd.S.ValidText(text)))
		rd.notes()
		return nil
	}
	rd.countNotes(&rd.sub.Notes)
	for _, a := range f.all {
		if a.IsInt {
			rd.b.SetIntAttribute(a.Key, a.Int)
		} else {
			rd.b.SetAttribute(a.Key, a.Text)
		}
	}
	return nil
}

// factReader splits an object or list into attributes.
type factReader struct {
	s      *jsonscan.Scanner
	all    []timeline.Attribute
	seen   map[string]bool
	size   int
	failed bool // too large, or a duplicate path
}

// members reads the members of the object or list at a path; its opening bracket has been read.
func (f *factReader) members(path string, kind jsonscan.Kind, depth int) {
	if depth > maxFactDepth {
		f.failed = true
	}
	n := 0
	if kind == jsonscan.Array {
		for ; !f.failed && f.s.Elem(); n++ {
			f.value(path+"["+strconv.Itoa(n)+"]", depth)
		}
		if n == 0 {
			f.add(timeline.Attribute{Key: path, Text: "[]"})
		}
		return
	}
	for ; !f.failed; n++ {
		key, ok := f.s.Key()
		if !ok {
			break
		}
		f.value(path+"."+string(key), depth)
	}
	if n == 0 {
		f.add(timeline.Attribute{Key: path, Text: "{}"})
	}
}

// value reads the value at a path, as reader.attribute does.
func (f *factReader) value(path string, depth int) {
	switch kind, text := f.s.Value(); kind {
	case jsonscan.Null:
	case jsonscan.Object, jsonscan.Array:
		f.members(path, kind, depth+1)
	case jsonscan.True:
		f.add(timeline.Attribute{Key: path, Int: 1, IsInt: true})
	case jsonscan.False:
		f.add(timeline.Attribute{Key: path, IsInt: true})
	default:
		a := timeline.Attribute{Key: path}
		if a.Int, a.IsInt = jsonscan.Int64(text); !a.IsInt || kind != jsonscan.Integer {
			a = timeline.Attribute{Key: path, Text: string(text)}
		}
		f.add(a)
	}
}

func (f *factReader) add(a timeline.Attribute) {
	f.size += len(a.Key) + len(a.Text)
	if f.seen[a.Key] || len(f.all) == maxFacts || f.size > maxFactBytes {
		f.failed = true
		return
	}
	f.seen[a.Key] = true
	f.all = append(f.all, a)
}
