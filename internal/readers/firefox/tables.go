package firefox

// tables holds strings, stacks, and the tables that stacks refer to, for one thread or for the whole profile
// (section 3).
type tables struct {
	strings   texts
	stacks    stackTable
	frames    frameTable
	funcs     funcTable
	resources resourceTable
	sources   sourceTable
}

// stackTable is the table of call stacks; each row is a frame and the stack of its caller.
type stackTable struct {
	frame        ints
	prefix       ints // none: a root
	prefixOffset ints // used instead of prefix: the distance back to the stack of the caller, 0: a root
	category     ints // before version 53; later frames have it
	subcategory  ints
	rows         int
}

// frameTable is the table of frames. The raw form has a location, the processed form a function.
type frameTable struct {
	location              ints // string index
	fn                    ints
	line, column          ints
	category, subcategory ints
	lib                   ints
	address               longs
	window                longs
	flags                 ints
	rows                  int
}

// funcTable is the table of functions.
type funcTable struct {
	name, isJS, resource, source, fileName, line, column, flags ints
	rows                                                        int
}

// resourceTable is the table of the origins of functions.
type resourceTable struct {
	name, lib, kind ints
}

// Flags of frames and functions, in variants of the format with a flags column: a value is valid only if its flag is
// set (section 3).
const (
	flagFrameAddress  = 1 << 1
	flagFrameCategory = 1 << 2
	flagFrameLine     = 1 << 4
	flagFrameColumn   = 1 << 5

	flagFuncIsJS     = 1 << 0
	flagFuncResource = 1 << 2
	flagFuncSource   = 1 << 3
	flagFuncLine     = 1 << 4
	flagFuncColumn   = 1 << 5
)

// readTables reads the shared tables.
func (d *decoder) readTables(t *tables) error {
	return d.object(func(key string) error {
		if table := t.reader(key); table != nil {
			return table(d)
		}
		return d.Skip()
	})
}

// reader returns the reader of the table with a name, or nil.
func (t *tables) reader(key string) func(d *decoder) error {
	switch key {
	case "stringTable", "stringArray":
		return func(d *decoder) error { return d.column(&t.strings) }
	case "stackTable":
		return t.stacks.read
	case "frameTable":
		return t.frames.read
	case "funcTable":
		return t.funcs.read
	case "resourceTable":
		return func(d *decoder) error {
			_, err := d.table([]named{{"name", &t.resources.name}, {"lib", &t.resources.lib}, {"type", &t.resources.kind}})
			return err
		}
	case "sources":
		return func(d *decoder) error {
			_, err := d.table([]named{{"filename", &t.sources.filename}})
			return err
		}
	}
	return nil
}

func (t *stackTable) read(d *decoder) error {
	length, err := d.table([]named{
		{"frame", &t.frame}, {"prefix", &t.prefix}, {"prefixOffset", &t.prefixOffset}, {"category", &t.category},
		{"subcategory", &t.subcategory},
	})
	t.rows = d.rows(length, &t.frame)
	return err
}

func (t *frameTable) read(d *decoder) error {
	length, err := d.table([]named{
		{"location", &t.location}, {"func", &t.fn}, {"line", &t.line}, {"column", &t.column},
		{"category", &t.category}, {"subcategory", &t.subcategory}, {"lib", &t.lib},
		{"address", &t.address}, {"innerWindowID", &t.window}, {"flags", &t.flags},
	})
	required := column(&t.location)
	if len(t.fn) > 0 {
		required = &t.fn
	}
	t.rows = d.rows(length, required)
	return err
}

func (t *funcTable) read(d *decoder) error {
	length, err := d.table([]named{
		{"name", &t.name}, {"isJS", &t.isJS}, {"resource", &t.resource}, {"source", &t.source},
		{"fileName", &t.fileName}, {"lineNumber", &t.line}, {"columnNumber", &t.column},
		{"flags", &t.flags},
	})
	t.rows = d.rows(length, &t.name)
	return err
}

// parent returns the stack of the caller, or none for a root. The result can be invalid; a valid caller is an earlier stack.
func (t *stackTable) parent(stack int32) int32 {
	parent := t.prefix.at(int(stack))
	if len(t.prefixOffset) > 0 {
		parent = none
		if back := t.prefixOffset.at(int(stack)); back > 0 {
			parent = stack - back
		}
	}
	return parent
}
