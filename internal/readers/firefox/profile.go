package firefox

import (
	"bytes"
	"errors"
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// profile is a profile in either form: a whole recording in the processed form, or one process in the raw form, where
// child processes have their own profiles (sections 2 and 3). It holds no references to the input.
type profile struct {
	meta             meta
	libs             []lib
	pages            []timeline.Page
	sources          sourceTable
	shared           tables
	threads          []*thread
	children         []*profile
	counters         []*counter
	overheads        []*overhead
	pauses           []pause
	tracerDictionary texts // names of JS tracer events

	attributes []attribute // kept as text
	has        struct{ meta, threads, shared bool }

	// Set by the conversion:
	process     *process // process of the first thread
	firstThread int      // index of the first thread in converter.threads
	loaded      loadedLibs
}

// attribute is a fact about the recording.
type attribute struct{ key, value string }

// lib is a library or program that frames refer to.
type lib struct {
	name, path, debugName, debugPath, breakpadID, codeID, arch string

	start, end, offset uint64 // address range, in raw profiles
}

// sourceTable is the table of source files.
type sourceTable struct {
	filename ints  // string indexes
	name     texts // raw form only: the names themselves
}

// pause is a period without recording.
type pause struct {
	start, end float64
	reason     string
}

func (d *decoder) readProfile(p *profile) error {
	return d.object(func(key string) error { return d.profileMember(p, key) })
}

// profileMember reads one member of a profile.
func (d *decoder) profileMember(p *profile, key string) error {
	switch key {
	case "meta":
		p.has.meta = true
		return d.readMeta(&p.meta)
	case "threads":
		p.has.threads = true
		return d.array(func() error { return d.readThreads(p) })
	case "processes":
		return d.array(func() error { return d.readChild(p) })
	case "shared":
		p.has.shared = true
		return d.readTables(&p.shared)
	case "libs":
		return d.embedded(func() error { return d.readLibs(&p.libs) })
	case "pages":
		return d.readPages(&p.pages)
	case "sources":
		_, err := d.table([]named{{"filename", &p.sources.name}})
		return err
	case "counters":
		return d.array(func() error { return d.readCounter(p) })
	case "profilerOverhead":
		return d.readOverheads(p)
	case "pausedRanges":
		return d.readPauses(&p.pauses)
	case "jsTracerDictionary":
		return d.column(&p.tracerDictionary)
	case "profilingLog", "profileGatheringLog", "visualMetrics":
		return d.readAttribute(&p.attributes, key)
	case "profile", "trace":
		if !p.has.meta && !p.has.threads && !d.wrapped {
			d.wrapped = true
			return d.readProfile(p)
		}
	}
	return d.unknownMember(key)
}

// unknownMember skips a member of a profile or thread that has no counterpart in a timeline. It counts the member
// unless its value is null or an empty list.
func (d *decoder) unknownMember(key string) error {
	c, err := d.Peek()
	if err != nil {
		return err
	}
	empty := c == 'n'
	if c == '[' {
		if empty, err = d.isEmptyList(); err != nil {
			return err
		}
	}
	if !empty {
		d.problem(problem.TopLevelMemberSkipped, key)
	}
	return d.Skip()
}

// isEmptyList reports whether the next value, a list, has no elements.
func (d *decoder) isEmptyList() (empty bool, err error) {
	err = d.Unit(func() {
		d.S.Value()
		empty = !d.S.Elem()
	})
	if err == nil {
		d.S.Rewind()
	}
	return empty, err
}

// embedded calls fn for a value, or for the value inside a string (section 2: version 3).
func (d *decoder) embedded(fn func() error) error {
	c, err := d.Peek()
	if err != nil || c != '"' {
		if err != nil {
			return err
		}
		return fn()
	}
	start := d.S.Start() // offsets within the string ignore escapes
	_, text, err := d.scalar()
	if err != nil {
		return err
	}
	inner := new(jsonscan.Scanner)
	inner.ResetAt(bytes.Clone(text), start)
	return d.within(inner, fn)
}

// readThreads reads one element of threads: a thread, or in version 3 the profile of a child process as a string.
func (d *decoder) readThreads(p *profile) error {
	c, err := d.Peek()
	if err != nil {
		return err
	}
	if c == '"' {
		return d.embedded(func() error { return d.readChild(p) })
	}
	if c != '{' {
		return d.unexpected(c)
	}
	if ok, err := d.hasCapacity(len(p.threads)); !ok {
		return err
	}
	th := new(thread)
	p.threads = append(p.threads, th)
	return d.readThread(th)
}

// readChild reads the profile of a child process.
func (d *decoder) readChild(p *profile) error {
	if d.nesting == maxDepth {
		return d.Failed(errors.New("processes nested too deep"))
	}
	if ok, err := d.hasCapacity(len(p.children)); !ok {
		return err
	}
	child := new(profile)
	p.children = append(p.children, child)
	d.nesting++
	err := d.embedded(func() error { return d.readProfile(child) })
	d.nesting--
	return err
}

func (d *decoder) readLibs(libs *[]lib) error {
	return d.array(func() error {
		if ok, err := d.hasCapacity(len(*libs)); !ok {
			return err
		}
		*libs = append(*libs, lib{})
		l := &(*libs)[len(*libs)-1]
		return d.object(func(key string) error {
			switch key {
			case "name":
				return d.text(&l.name)
			case "path":
				return d.text(&l.path)
			case "debugName":
				return d.text(&l.debugName)
			case "debugPath":
				return d.text(&l.debugPath)
			case "breakpadId":
				return d.text(&l.breakpadID)
			case "codeId":
				return d.text(&l.codeID)
			case "arch":
				return d.text(&l.arch)
			case "start":
				return d.address(&l.start)
			case "end":
				return d.address(&l.end)
			case "offset":
				return d.address(&l.offset)
			}
			return d.Skip()
		})
	})
}

// address reads an unsigned 64-bit integer.
func (d *decoder) address(dst *uint64) error {
	kind, text, err := d.scalar()
	if err == nil && kind == jsonscan.Integer {
		*dst, _ = jsonscan.Uint64(text)
	}
	return err
}

func (d *decoder) readPauses(pauses *[]pause) error {
	return d.array(func() error {
		p := pause{start: math.NaN(), end: math.NaN()}
		err := d.object(func(key string) error {
			switch key {
			case "startTime":
				return d.number(&p.start)
			case "endTime":
				return d.number(&p.end)
			case "reason":
				return d.text(&p.reason)
			}
			return d.Skip()
		})
		if err == nil {
			*pauses = append(*pauses, p)
		}
		return err
	})
}

// readAttribute keeps a value as text: the content of a string, or JSON.
func (d *decoder) readAttribute(dst *[]attribute, key string) error {
	var value string
	long := false
	err := d.Unit(func() {
		var kind jsonscan.Kind
		var text []byte
		kind, text = d.S.Scalar()
		value, long = "", false
		switch {
		case kind == jsonscan.Invalid || kind == jsonscan.Null:
		case len(text) > readers.MaxAttribute:
			long = true
		default:
			value = string(d.S.ValidText(text))
		}
	})
	switch {
	case err != nil:
		return err
	case long:
		d.problem(problem.MetadataValueOmitted, key)
	case value != "":
		*dst = append(*dst, attribute{key, value})
	}
	return nil
}
