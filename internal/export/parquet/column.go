package parquet

import (
	pq "github.com/parquet-go/parquet-go"

	"github.com/weft-trace/weft/internal/resolved"
)

// column collects the values of a column with their definition levels: 1 for a value that could be absent, 0 for an absent one.
// In each row, all list elements except the first have repetition level 1.
type column struct {
	values []pq.Value
	level  int  // definition level of values
	inList bool // the row has list elements
}

// newColumns returns the columns, in the order of the file.
func newColumns() []column {
	columns := make([]column, columnCount)
	schema := newSchema()
	for i, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		columns[i] = column{level: leaf.MaxDefinitionLevel, values: make([]pq.Value, 0, batchRows)}
	}
	return columns
}

func (c *column) add(v pq.Value) {
	v.SetDefinitionLevel(c.level)
	c.values = append(c.values, v)
}

func (c *column) null() { c.values = append(c.values, pq.Value{}) }

func (c *column) int(v int64) { c.add(pq.Int64Value(v)) }

func (c *column) uint(v uint64) { c.add(pq.Int64Value(int64(v))) }

func (c *column) uint32(v uint32) { c.add(pq.Int32Value(int32(v))) }

func (c *column) double(v float64) { c.add(pq.DoubleValue(v)) }

// bytes adds a text, which must not change until the batch is written.
func (c *column) bytes(text []byte) { c.add(pq.ByteArrayValue(text)) }

func (c *column) intIf(v int64, known bool) {
	if known {
		c.int(v)
	} else {
		c.null()
	}
}

// element adds an element of the list that endList ends.
func (c *column) element(v pq.Value) {
	if c.inList {
		v.SetRepetitionLevel(1)
	}
	c.inList = true
	c.add(v)
}

// endList ends the list of a row, which may be empty.
func (c *column) endList() {
	if !c.inList {
		c.null()
	}
	c.inList = false
}

// kindNames holds the texts of the kind column.
var kindNames = func() (names [resolved.KindCount + 1][]byte) {
	for kind := range names {
		names[kind] = []byte(resolved.Kind(kind).String())
	}
	return names
}()

// textColumns lists the columns without a minimum and maximum in the file: texts are long, and the bounds are useless because
// rows are sorted by time.
var textColumns = [][]string{
	{"kind"}, {"name"}, {"categories", "list", "element"}, {"track"}, {"process_name"}, {"thread_name"}, {"args"}, {"contexts"}, {"stack"}, {"async_id"}, {"async_scope"},
}
