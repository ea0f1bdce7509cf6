package firefox

import (
	"bytes"
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// A column is one column of a table being read. Tables come in two forms (sections 2 and 3): a schema with rows, or a
// list per column. Both fill the same columns.
type column interface {
	// add scans a value and appends it. If the value does not fit the column, it appends null and returns false. After
	// a failure of the scanner it appends nothing.
	add(s *jsonscan.Scanner) bool
	// addMany appends the list elements that it can read fast, possibly none.
	addMany(s *jsonscan.Scanner)
	// addNull appends a null.
	addNull()
	len() int
	truncate(n int)
}

// none represents null in a column of indexes, which are never negative. Newer tables store null as -1.
const none = -1

// ints is a column of indexes and other small integers; null means no value.
type ints []int32

func (c *ints) add(s *jsonscan.Scanner) bool {
	switch kind, text := s.Scalar(); kind {
	case jsonscan.Invalid:
	case jsonscan.Integer, jsonscan.Number:
		v, ok := jsonscan.Decimal(text, 0)
		if !ok || v < none || v > math.MaxInt32 {
			*c = append(*c, none)
			return false
		}
		*c = append(*c, int32(v))
	case jsonscan.True:
		*c = append(*c, 1)
	case jsonscan.False:
		*c = append(*c, 0)
	default:
		*c = append(*c, none)
		return kind == jsonscan.Null
	}
	return true
}

func (c *ints) addMany(s *jsonscan.Scanner) { *c = s.Int32s(*c, none) }
func (c *ints) addNull()                    { *c = append(*c, none) }
func (c *ints) len() int                    { return len(*c) }
func (c *ints) truncate(n int)              { *c = (*c)[:n] }

// at returns an element, or none past the end of a missing or short column.
func (c ints) at(i int) int32 {
	if i < 0 || i >= len(c) {
		return none
	}
	return c[i]
}

// floats is a column of times and amounts; null is NaN.
type floats []float64

func (c *floats) add(s *jsonscan.Scanner) bool {
	switch kind, text := s.Scalar(); kind {
	case jsonscan.Invalid:
	case jsonscan.Integer, jsonscan.Number:
		f, ok := jsonscan.Float64(text)
		if !ok {
			f = math.NaN()
		}
		*c = append(*c, f)
		return ok
	default:
		*c = append(*c, math.NaN())
		return kind == jsonscan.Null || kind == jsonscan.Word && string(text) == "NaN"
	}
	return true
}

func (c *floats) addMany(s *jsonscan.Scanner) { *c = s.Float64s(*c) }
func (c *floats) addNull()                    { *c = append(*c, math.NaN()) }
func (c *floats) len() int                    { return len(*c) }
func (c *floats) truncate(n int)              { *c = (*c)[:n] }

// at returns an element, or NaN past the end of a missing or short column.
func (c floats) at(i int) float64 {
	if i < 0 || i >= len(c) {
		return math.NaN()
	}
	return c[i]
}

// longs is a column of integers that can exceed 32 bits: addresses and window ids; null means no value.
type longs []int64

func (c *longs) add(s *jsonscan.Scanner) bool {
	kind, text := s.Scalar()
	if kind == jsonscan.Invalid {
		return true
	}
	v, ok := int64(none), kind == jsonscan.Null
	if kind == jsonscan.Integer || kind == jsonscan.Number {
		if v, ok = jsonscan.Decimal(text, 0); !ok {
			var u uint64
			if u, ok = jsonscan.Uint64(text); ok {
				v = int64(u) // an address in the upper half
			} else {
				v, ok = none, string(text) == unsignedNone
			}
		}
	}
	*c = append(*c, v)
	return ok
}

// unsignedNone is the window id -1, which Firefox writes as an unsigned integer that was rounded to a double.
const unsignedNone = "18446744073709552000"

func (c *longs) addMany(*jsonscan.Scanner) {}
func (c *longs) addNull()                  { *c = append(*c, none) }
func (c *longs) len() int                  { return len(*c) }
func (c *longs) truncate(n int)            { *c = (*c)[:n] }

// at returns an element, or none past the end of a missing or short column.
func (c longs) at(i int) int64 {
	if i < 0 || i >= len(c) {
		return none
	}
	return c[i]
}

// texts is a column or list of texts; null becomes the empty string. The texts are stored in chunks, so that the list
// can grow without copying them.
type texts struct {
	chunks [][]byte
	spans  []span
}

// span locates a text.
type span struct {
	chunk      int32
	start, end uint32
}

const (
	firstChunk = 1 << 10 // most lists are short
	lastChunk  = 1 << 20
)

// imageStub replaces pictures whose text is longer than readers.MaxScreenshotText (section 6).
var (
	imagePrefix = []byte("data:image/")
	imageStub   = []byte("data:image/omitted")
)

func (c *texts) add(s *jsonscan.Scanner) bool {
	kind, text := s.Scalar()
	switch kind {
	case jsonscan.Invalid:
		return true
	case jsonscan.Null:
		text = nil
	case jsonscan.String:
		if len(text) > readers.MaxScreenshotText && bytes.HasPrefix(text, imagePrefix) {
			text = imageStub
		}
	default:
		text = s.ValidText(text)
	}
	c.append(text)
	return true
}

func (c *texts) append(text []byte) {
	last := len(c.chunks) - 1
	if last < 0 || cap(c.chunks[last])-len(c.chunks[last]) < len(text) {
		size := firstChunk
		if last >= 0 {
			size = min(2*cap(c.chunks[last]), lastChunk)
		}
		c.chunks = append(c.chunks, make([]byte, 0, max(size, len(text))))
		last++
	}
	chunk := c.chunks[last]
	start := len(chunk)
	chunk = append(chunk, text...)
	c.chunks[last] = chunk
	c.spans = append(c.spans, span{int32(last), uint32(start), uint32(len(chunk))})
}

func (c *texts) addMany(*jsonscan.Scanner) {}
func (c *texts) addNull()                  { c.spans = append(c.spans, span{}) }
func (c *texts) len() int                  { return len(c.spans) }
func (c *texts) truncate(n int)            { c.spans = c.spans[:n] }

// at returns a text, which callers must not change. It returns false past the end.
func (c *texts) at(i int32) ([]byte, bool) {
	if i < 0 || int(i) >= len(c.spans) {
		return nil, false
	}
	s := c.spans[i]
	if s.start == s.end {
		return nil, true
	}
	return c.chunks[s.chunk][s.start:s.end:s.end], true
}

// text returns a text as a string, or "" past the end.
func (c *texts) text(i int32) string {
	b, _ := c.at(i)
	return string(b)
}

// values is a column of unparsed JSON values; null becomes the empty string. It stores the input position of each
// value, or of its row.
type values struct {
	texts
	offsets []int64
}

func (c *values) add(s *jsonscan.Scanner) bool {
	raw := s.Raw()
	if s.Err() != nil {
		return true
	}
	c.offsets = append(c.offsets, s.Start())
	if string(raw) == "null" {
		c.texts.addNull()
		return true
	}
	c.append(raw)
	return true
}

func (c *values) addNull() {
	c.offsets = append(c.offsets, none)
	c.texts.addNull()
}

func (c *values) truncate(n int) {
	c.offsets = c.offsets[:n]
	c.texts.truncate(n)
}

// offset returns the position of a value, or none past the end.
func (c *values) offset(i int32) int64 {
	if i < 0 || int(i) >= len(c.offsets) {
		return none
	}
	return c.offsets[i]
}

// named is a column with its name in the profile.
type named struct {
	name string
	column
}

// table reads a table in either form into columns. The result length is the number of rows that the table states or, if
// it states none, the length of the longest column. A missing column stays empty.
func (d *decoder) table(columns []named) (length int, err error) {
	t := newTableReader(d, columns)
	err = d.object(t.member)
	return t.rows(err), err
}

// tableReader is the state of reading one table.
type tableReader struct {
	d       *decoder
	columns []named
	schema  []column // column for each index in a row; nil: ignored
	known   bool     // the schema was read
	waiting []byte   // rows before the schema
	start   int64    // offset of these rows
	length  int64    // as stated by the table; none if missing
}

func newTableReader(d *decoder, columns []named) *tableReader {
	return &tableReader{d: d, columns: columns, length: none}
}

// rows returns the length of the table, which may be incomplete.
func (t *tableReader) rows(err error) int {
	if err == nil && t.waiting != nil {
		t.d.problem(problem.FirefoxValueInvalid, "rows without a schema")
	}
	if t.length >= 0 {
		return int(min(t.length, math.MaxInt32))
	}
	n := 0
	for _, c := range t.columns {
		n = max(n, c.len())
	}
	return n
}

// member reads one member of a table.
func (t *tableReader) member(key string) error {
	switch key {
	case "schema":
		return t.readSchema()
	case "length":
		return t.d.integer(&t.length)
	case "data":
		if rows, err := t.d.opensRows(); rows || err != nil {
			if err != nil {
				return err
			}
			return t.readRows()
		}
	}
	for _, c := range t.columns {
		if c.name == key {
			return t.d.column(c.column)
		}
	}
	return t.d.Skip()
}

// opensRows reports whether the next value is a list of rows: a list of lists.
func (d *decoder) opensRows() (rows bool, err error) {
	err = d.Unit(func() {
		rows = false
		if kind, _ := d.S.Value(); kind != jsonscan.Array {
			return
		}
		for _, c := range d.S.Window() {
			switch c {
			case ' ', '\t', '\n', '\r':
				continue
			}
			rows = c == '['
			return
		}
		d.S.Elem() // fails, because nothing follows
	})
	if d.S.Err() == nil {
		d.S.Rewind()
	}
	return rows, err
}

// column reads the values of one column.
func (d *decoder) column(c column) error {
	c.truncate(0)
	ok := false
	add := func() { ok = c.add(d.S) }
	return d.array(func() error {
		before := c.len()
		if c.addMany(d.S); c.len() > before {
			d.path[len(d.path)-1].index += c.len() - before - 1
			return nil
		}
		err := d.Unit(add)
		if err == nil && !ok {
			d.problem(problem.FirefoxValueInvalid, "a value")
		}
		return err
	})
}

// readSchema reads the indexes of columns in rows.
func (t *tableReader) readSchema() error {
	const maxIndex = 1 << 10
	t.known = true
	err := t.d.object(func(key string) error {
		index := int64(none)
		if err := t.d.integer(&index); err != nil {
			return err
		}
		for _, c := range t.columns {
			if c.name == key && index >= 0 && index < maxIndex {
				for int(index) >= len(t.schema) {
					t.schema = append(t.schema, nil)
				}
				t.schema[index] = c.column
			}
		}
		return nil
	})
	if err != nil || t.waiting == nil {
		return err
	}
	rows := new(jsonscan.Scanner)
	rows.ResetAt(t.waiting, t.start)
	t.waiting = nil
	return t.d.within(rows, t.readRows)
}

// readRows reads the rows of a table, or keeps them until the schema is known.
func (t *tableReader) readRows() error {
	d := t.d
	if !t.known {
		return d.Unit(func() {
			t.waiting = bytes.Clone(d.S.Raw())
			t.start = d.S.Start()
		})
	}
	n, wrong := 0, 0
	row := func() {
		wrong = 0
		if kind, _ := d.S.Value(); kind != jsonscan.Array {
			d.S.Rewind()
			d.S.Skip()
			wrong = 1
			t.endRow(0, n)
			return
		}
		index := 0
		for d.S.Elem() {
			if index >= len(t.schema) || t.schema[index] == nil {
				d.S.Skip()
			} else if !t.schema[index].add(d.S) {
				wrong++
			}
			index++
		}
		t.endRow(index, n)
	}
	return d.array(func() error {
		err := d.Unit(row)
		if n++; err == nil && wrong > 0 {
			detail := ""
			if d.Log.Wants(problem.FirefoxValueInvalid) {
				detail = "values in " + d.where()
			}
			d.Log.AddN(problem.FirefoxValueInvalid, uint64(wrong), d.Position(), detail)
		}
		return err
	})
}

// endRow completes row n, which has only the first read values, or removes it after a failure.
func (t *tableReader) endRow(read, n int) {
	if t.d.S.Err() != nil {
		for _, c := range t.schema {
			if c != nil {
				c.truncate(min(n, c.len()))
			}
		}
		return
	}
	for _, c := range t.schema[min(read, len(t.schema)):] {
		if c != nil {
			c.addNull()
		}
	}
}

// rows returns the number of rows with all required columns. It counts the missing rows, such as those at the end of a
// truncated input.
func (d *decoder) rows(length int, first column, others ...column) int {
	n := min(length, first.len())
	for _, c := range others {
		n = min(n, c.len())
	}
	if n < length {
		d.Log.AddN(problem.FirefoxColumnShort, uint64(length-n), d.Position(), d.where())
	}
	return n
}
