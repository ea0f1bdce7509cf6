// Package parquet writes resolved events as a Parquet file: one table sorted by time with a row for each event, whose columns are the
// fields of weft.v1.Event (proto/weft/v1/event.proto). Nested fields that queries rarely need are text: track, args, contexts and stack.
//
// Rows are written in groups, so that memory does not grow with the trace. Equal rows and options result in identical bytes.
//
// It is the only package of weft that depends on github.com/parquet-go/parquet-go: programs that only read or convert traces do
// not link that module. Package resolved defines events; cmd/weft handles files.
package parquet

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// SmallMemory is the memory budget below which small groups are worth a larger file.
const SmallMemory = 128 << 20

// Options configure a file.
type Options struct {
	Version string // of weft, for the file's created_by
	// SmallGroups writes groups of 8,192 rows instead of 131,072, which needs less memory but makes the file larger.
	SmallGroups bool
}

// layout holds the size limits of a group.
type layout struct {
	rows       int // rows in a group
	text       int // bytes of text in a group; a group with more text is written early
	dictionary int // bytes of a column's dictionary; further values are written without the dictionary
	page       int // bytes of a page before compression
}

var (
	largeGroups = layout{rows: 131072, text: 256 << 20, dictionary: 8 << 20, page: 512 << 10}
	smallGroups = layout{rows: 8192, text: 16 << 20, dictionary: 1 << 20, page: 64 << 10}
)

const (
	// maxSmall is the maximum number of small groups. Each keeps about 10 KB in memory for the end of the file; a file can have
	// 32,767 groups.
	maxSmall = 1024

	batchRows = 1024     // rows collected before they are passed to parquet-go
	batchText = 1 << 20  // bytes of their texts
	maxText   = 64 << 20 // bytes of a text; longer ones are truncated

	numberBytes = 18 * 8 // bytes of the numbers in a row, without flows

	maxCache = 4 << 20 // bytes of cached texts of tracks, and of stacks
)

// Writer writes a file. It is not safe for concurrent use.
type Writer struct {
	// Truncated counts texts that were truncated to 64 MiB.
	Truncated uint64

	tl      *timeline.Timeline
	file    *pq.GenericWriter[table]
	columns []column
	layout  layout

	batch  int    // rows in columns
	text   []byte // text of these rows
	rows   int    // in the group
	bytes  int    // of text in the group
	groups int

	tracks cache[timeline.TrackLane]
	stacks cache[timeline.CallstackID]
	json   []byte
}

// NewWriter returns a Writer for events of a timeline. The file is complete when Close returns without an error.
func NewWriter(w io.Writer, tl *timeline.Timeline, opts Options) *Writer {
	writer := &Writer{tl: tl, layout: largeGroups, columns: newColumns()}
	if opts.SmallGroups {
		writer.layout = smallGroups
	}
	options := []pq.WriterOption{
		newSchema(), pq.CreatedBy("weft", opts.Version, ""), pq.Compression(&zstd.Codec{}),
		pq.PageBufferSize(writer.layout.page), pq.DictionaryMaxBytes(int64(writer.layout.dictionary)),
		pq.DataPageStatistics(false), pq.SortingWriterConfig(pq.SortingColumns(pq.Ascending("ts_ns"))),
	}
	for _, path := range textColumns {
		options = append(options, pq.SkipPageBounds(path...))
	}
	writer.file = pq.NewGenericWriter[table](w, options...)
	return writer
}

// Write writes a row for an event, and returns the size of its values in bytes.
func (w *Writer) Write(row *resolved.Row) (size int, err error) {
	start := len(w.text)
	w.fillEvent(row)
	w.fillTrack(row)
	w.fillFlows(row)
	w.fillThread(row)
	size = numberBytes + len(w.text) - start
	if w.batch++; w.batch == batchRows || len(w.text) >= batchText {
		err = w.flushBatch()
	}
	return size, err
}

// Close writes the remaining rows and the end of the file, with metadata as key-value pairs. It does not close the underlying writer.
func (w *Writer) Close(metadata map[string]string) error {
	if err := w.flushBatch(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		w.file.SetKeyValueMetadata(key, metadata[key])
	}
	return w.file.Close()
}

// flushBatch passes collected values to parquet-go, and ends the group if it is full.
func (w *Writer) flushBatch() error {
	for i, column := range w.file.ColumnWriters() {
		if _, err := column.WriteRowValues(w.columns[i].values); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
		w.columns[i].values = w.columns[i].values[:0]
	}
	w.rows, w.bytes = w.rows+w.batch, w.bytes+len(w.text)
	w.batch, w.text = 0, w.text[:0]
	if w.rows < w.layout.rows && w.bytes < w.layout.text {
		return nil
	}
	w.rows, w.bytes = 0, 0
	if w.groups++; w.groups == maxSmall {
		w.layout = largeGroups
	}
	return w.file.Flush()
}

func (w *Writer) fillEvent(row *resolved.Row) {
	it := row.Item
	w.columns[colTS].int(int64(it.TS))
	if row.Kind == resolved.Slice && it.Dur != timeline.NoTime {
		w.columns[colDur].int(int64(it.Dur))
	} else {
		w.columns[colDur].null()
	}
	w.columns[colKind].bytes(kindNames[row.Kind])
	w.addText(colName, it.Name)
	for category := range resolved.Categories(it.Category) {
		w.columns[colCategories].element(pq.ByteArrayValue(w.keep(category)))
	}
	w.columns[colCategories].endList()
	w.columns[colID].uint(row.ID)
	w.columns[colParentID].uint(row.Parent)
	w.columns[colDepth].uint32(uint32(row.Depth))
	if w.json = row.AppendArgs(w.json[:0]); len(w.json) == len("{}") {
		w.json = w.json[:0]
	}
	w.addJSON(colArgs)
	w.json = w.json[:0]
	if len(row.Contexts) > 0 {
		w.json = row.AppendContexts(w.json)
	}
	w.addJSON(colContexts)
	w.columns[colMadeUp].uint32(uint32(row.Track.MadeUp))
	w.columns[colInput].uint32(0)
	w.columns[colInputEvent].uint(uint64(it.Event))
	if it.Offset >= 0 {
		w.columns[colInputByte].uint(uint64(it.Offset))
	} else {
		w.columns[colInputByte].null()
	}
}

func (w *Writer) fillTrack(row *resolved.Row) {
	it, track := row.Item, row.Track
	text := w.tracks.get(timeline.TrackLane{Track: it.Track, Lane: it.Lane}, func() []byte {
		return []byte(resolved.TrackText(w.tl, it.Track, it.Lane))
	})
	w.addText(colTrack, text)
	w.columns[colPID].intIf(track.PID, track.HasPID)
	w.columns[colTID].intIf(track.TID, track.HasTID)
	w.addString(colProcessName, track.ProcessName)
	w.addString(colThreadName, track.ThreadName)
	w.addString(colAsyncID, track.AsyncID)
	w.addString(colAsyncScope, track.AsyncScope)
	w.columns[colLane].uint32(track.Lane)
}

func (w *Writer) fillFlows(row *resolved.Row) {
	for _, f := range row.FlowsIn {
		w.columns[colFlowsInID].element(pq.Int64Value(int64(f.ID)))
		w.columns[colFlowsInFrom].element(pq.Int64Value(int64(f.From)))
	}
	w.columns[colFlowsInID].endList()
	w.columns[colFlowsInFrom].endList()
	for _, id := range row.FlowsOut {
		w.columns[colFlowsOut].element(pq.Int64Value(int64(id)))
	}
	w.columns[colFlowsOut].endList()
}

func (w *Writer) fillThread(row *resolved.Row) {
	it := row.Item
	at, known := it.ThreadTime.Nanos()
	w.columns[colThreadTS].intIf(int64(at), known)
	used, known := row.ThreadDuration.Nanos()
	w.columns[colThreadDur].intIf(int64(used), known)
	valued := row.Kind == resolved.Counter || row.Kind == resolved.Sample
	w.columns[colIntValue].intIf(it.Value.Int(), valued && it.Value.IsInt())
	if valued && !it.Value.IsInt() {
		w.columns[colDoubleValue].double(it.Value.Float())
	} else {
		w.columns[colDoubleValue].null()
	}
	var stack []byte
	if it.Callstack != 0 {
		stack = w.stacks.get(it.Callstack, func() []byte { return resolved.AppendStackText(nil, w.tl, it.Callstack) })
	}
	w.addText(colStack, stack)
	cpu, known := it.CPU.Number()
	if known {
		w.columns[colCPU].uint32(cpu)
	} else {
		w.columns[colCPU].null()
	}
}

// addText adds a text to a column, or null if it is empty.
func (w *Writer) addText(col int, text []byte) {
	if len(text) == 0 {
		w.columns[col].null()
		return
	}
	w.columns[col].bytes(w.keep(text))
}

func (w *Writer) addString(col int, text string) {
	if text == "" {
		w.columns[col].null()
		return
	}
	start := len(w.text)
	w.text = append(w.text, text...)
	w.columns[col].bytes(w.valid(start))
}

// addJSON adds the text in w.json or, if the text is too long, its first part as a JSON string.
func (w *Writer) addJSON(col int) {
	if len(w.json) > maxText {
		w.Truncated++
		w.json = jsonscan.AppendString(nil, w.json[:maxText/8]) // escapes make it up to six times as long
	}
	w.addText(col, w.json)
}

// keep copies a text, so that it does not change until the batch is written.
func (w *Writer) keep(text []byte) []byte {
	if len(text) > maxText {
		w.Truncated++
		text = text[:maxText]
	}
	start := len(w.text)
	w.text = append(w.text, text...)
	return w.valid(start)
}

// valid returns the last text, from start on. Bytes that are not UTF-8, which readers reject, become U+FFFD.
func (w *Writer) valid(start int) []byte {
	if text := w.text[start:]; !utf8.Valid(text) {
		w.text = append(w.text[:start], bytes.ToValidUTF8(text, []byte("\uFFFD"))...)
	}
	return w.text[start:len(w.text):len(w.text)]
}

// cache caches texts.
type cache[K comparable] struct {
	texts map[K][]byte
	bytes int
}

// entryBytes is the estimated memory of an entry without its text.
const entryBytes = 64

func (c *cache[K]) get(key K, text func() []byte) []byte {
	if found, ok := c.texts[key]; ok {
		return found
	}
	made := text()
	if c.bytes += len(made) + entryBytes; c.texts == nil || c.bytes > maxCache {
		c.texts, c.bytes = map[K][]byte{}, len(made)+entryBytes
	}
	c.texts[key] = made
	return made
}
