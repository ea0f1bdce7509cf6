package har

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// reader reads an archive.
type reader struct {
	*jsondoc.Reader
	b    *timeline.Builder
	opts readers.Options
	args readers.ArgReader

	entries          *readers.Spool[head]
	pages            []page
	pageIDs          map[string]uint32 // index in pages
	pageSize         int
	creator, browser program
	any              bool // there was a list of entries

	now     unit             // that is being read
	sub     jsonscan.Scanner // of headers
	headers []header         // scratch
	names   []byte           // scratch
	value   []byte           // scratch
}

// program is what made the archive, or was recorded in it.
type program struct{ name, version string }

func (p program) String() string { return strings.TrimSpace(p.name + " " + p.version) }

// document reads the input from its first byte to its last.
func (r *reader) document() error {
	c, err := r.Begin()
	if err != nil {
		return err
	}
	if c != '{' {
		return r.Failed(fmt.Errorf("no HTTP archive: found %q instead of an object", c))
	}
	err = r.Members(func(key []byte, c byte) error {
		if string(key) == "log" && c == '{' {
			return r.Members(r.logMember)
		}
		return r.skipUnknown(key)
	})
	if err != nil {
		return err
	}
	return r.Trailing()
}

// logMember reads a member of the log.
func (r *reader) logMember(key []byte, c byte) error {
	switch name := string(key); {
	case name == "entries" && c == '[':
		r.any = true
		return r.objects(r.entry)
	case name == "pages" && c == '[':
		return r.objects(r.page)
	case name == "creator" && c == '{':
		return r.program(name, &r.creator)
	case name == "browser" && c == '{':
		return r.program(name, &r.browser)
	case c == '{' || c == '[':
		if name == "entries" || name == "pages" || name == "creator" || name == "browser" {
			r.Log.Add(problem.HARValueInvalid, r.Position(), name)
			return r.Skip()
		}
		r.Log.Add(problem.TopLevelMemberSkipped, r.Position(), name)
		return r.Skip()
	default:
		return r.attribute("har." + name)
	}
}

// objects reads the objects of a list.
func (r *reader) objects(read func() error) error {
	return r.Elements(func(c byte) error {
		if c == '{' {
			return read()
		}
		r.Log.Add(problem.JSONNotAnEvent, r.Position(), "")
		return r.Skip()
	})
}

// program reads creator or browser. All their scalar members are attributes of the trace.
func (r *reader) program(of string, p *program) error {
	return r.Members(func(key []byte, c byte) error {
		name := string(key)
		if c == '{' || c == '[' {
			r.Log.Add(problem.TopLevelMemberSkipped, r.Position(), of+"."+name)
			return r.Skip()
		}
		if err := r.attribute("har." + of + "." + name); err != nil {
			return err
		}
		switch name {
		case "name":
			p.name = string(r.value)
		case "version":
			p.version = string(r.value)
		}
		return nil
	})
}

// maxAttribute bounds the length of a member that becomes an attribute of the trace.
const maxAttribute = 16 << 10

// attribute reads a scalar value, which becomes an attribute of the trace and is left in r.value.
func (r *reader) attribute(key string) error {
	at := r.Position()
	kind, text, err := r.Scalar()
	if err != nil {
		return err
	}
	r.value = append(r.value[:0], text...)
	switch {
	case kind == jsonscan.Null, len(text) == 0:
	case len(text) > maxAttribute:
		r.Log.Add(problem.MetadataValueOmitted, at, key)
		r.value = r.value[:0]
	default:
		r.b.SetAttribute(key, string(text))
	}
	return nil
}

// skipUnknown reads over a member that the format does not know.
func (r *reader) skipUnknown(key []byte) error {
	r.Unknown(key, r.Position())
	return r.Skip()
}
