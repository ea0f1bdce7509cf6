package har

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// reader reads an archive.
type reader struct {
	*readers.Document
	b    *timeline.Builder
	opts readers.Options
	args readers.ArgReader

	entries          *readers.Spool[head]
	pages            []page
	pageIDs          map[string]uint32 // indexes in pages
	pageSize         int
	creator, browser program
	any              bool // the archive has a list of entries

	current unit             // the unit being read
	sub     jsonscan.Scanner // reads values within values
	headers []header         // scratch
	names   []byte           // scratch
	value   []byte           // scratch
}

// program is the creator of the archive, or the recorded browser.
type program struct{ name, version string }

func (p program) String() string { return strings.TrimSpace(p.name + " " + p.version) }

// document reads the whole input.
func (r *reader) document() error {
	c, err := r.Begin()
	if err != nil {
		return err
	}
	if c != '{' {
		return r.Failed(fmt.Errorf("not an HTTP archive: found %q instead of an object", c))
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

// program reads the member creator or browser. Its scalar members become attributes of the trace.
func (r *reader) program(member string, p *program) error {
	return r.Members(func(key []byte, c byte) error {
		name := string(key)
		if c == '{' || c == '[' {
			r.Log.Add(problem.TopLevelMemberSkipped, r.Position(), member+"."+name)
			return r.Skip()
		}
		if err := r.attribute("har." + member + "." + name); err != nil {
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

// attribute reads a scalar value into r.value and makes it an attribute of the trace.
func (r *reader) attribute(key string) error {
	at := r.Position()
	kind, text, err := r.Scalar()
	if err != nil {
		return err
	}
	r.value = append(r.value[:0], text...)
	switch {
	case kind == jsonscan.Null, len(text) == 0:
	case len(text) > readers.MaxAttribute:
		r.Log.Add(problem.MetadataValueOmitted, at, key)
		r.value = r.value[:0]
	default:
		r.b.SetAttribute(key, string(text))
	}
	return nil
}

// skipUnknown counts and skips an unknown member.
func (r *reader) skipUnknown(key []byte) error {
	r.Unknown(key, r.Position())
	return r.Skip()
}
