// Package parquet writes resolved events as a Parquet file: one table, a row for each event, sorted by time, whose columns are the
// fields of weft.v1.Event (proto/weft/v1/event.proto). Nested fields that no query walks are text: track, args, contexts and stack.
//
// The file holds groups of rows, which are written one after the other, so that memory does not grow with the trace. Equal rows and
// options give equal bytes.
//
// It depends on github.com/parquet-go/parquet-go, which no other package of weft does: a program that only reads or converts traces
// does not link it. Package resolved defines events; cmd/weft handles files.
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

// SmallMemory is the budget below which small groups are worth their larger files.
const SmallMemory = 128 << 20

// Options say how a file is written.
type Options struct {
	Version string // of weft, for the file's created_by
	// SmallGroups makes groups of 8,192 rows instead of 131,072: less memory, a larger file.
	SmallGroups bool
}

// layout is what the size of groups decides.
type layout struct {
	rows       int // in a group
	text       int // bytes of text in a group: one with more is written before it has all its rows
	dictionary int // bytes of the dictionary of a column; later values are written as they are
	page       int // bytes of a page, before it is compressed
}

var (
	largeGroups = layout{rows: 131072, text: 256 << 20, dictionary: 8 << 20, page: 512 << 10}
	smallGroups = layout{rows: 8192, text: 16 << 20, dictionary: 1 << 20, page: 64 << 10}
)

const (
	// maxSmall is how many groups are small. Each leaves some 10 KB in memory for the end of the file, and a file holds 32,767.
	maxSmall = 1024

	batchRows = 1024     // rows that are collected before they go to the columns
	batchText = 1 << 20  // bytes of their texts
	maxText   = 64 << 20 // bytes of a text; what is longer is cut

	numberBytes = 18 * 8 // bytes of the numbers of a row, without flows

	maxCache = 4 << 20 // bytes of texts of tracks, and of stacks, that are kept
)

// Writer writes a file. It is not safe for concurrent use.
type Writer struct {
	// Cut counts texts that were cut because they are longer than 64 MiB.
	Cut uint64

	tl      *timeline.Timeline
	file    *pq.GenericWriter[table]
	columns []column
	layout  layout

	batch  int    // rows in columns
	text   []byte // of these
	rows   int    // in the group
	bytes  int    // of text in the group
	groups int

	tracks cache[timeline.TrackLane]
	stacks cache[timeline.CallstackID]
	json   []byte
}

// NewWriter returns a Writer of events of a timeline. The file is complete when Close has returned without an error.
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

// Write writes a row for an event, and returns how many bytes its values take.
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

// Close writes what is left and the end of the file, with metadata as pairs of names and values. It does not close the writer
// below.
func (w *Writer) Close(metadata map[string]string) error {
	if err := w.flushBatch(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		w.file.SetKeyValueMetadata(key, metadata[key])
	}
	return w.file.Close()
}

// flushBatch gives collected values to the columns, and ends the group if it is full.
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

// addText adds a text to a column, null if it is empty.
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

// addJSON adds the text in w.json; a text that is too long as a JSON string of its first part.
func (w *Writer) addJSON(col int) {
	if len(w.json) > maxText {
		w.Cut++
		w.json = jsonscan.AppendString(nil, w.json[:maxText/8]) // each byte can become six
	}
	w.addText(col, w.json)
}

// keep copies a text to where it stays until the batch is written.
func (w *Writer) keep(text []byte) []byte {
	if len(text) > maxText {
		w.Cut++
		text = text[:maxText]
	}
	start := len(w.text)
	w.text = append(w.text, text...)
	return w.valid(start)
}

// valid returns the text that was appended last, with U+FFFD for bytes that are not UTF-8: readers refuse them.
func (w *Writer) valid(start int) []byte {
	if text := w.text[start:]; !utf8.Valid(text) {
		w.text = append(w.text[:start], bytes.ToValidUTF8(text, []byte("\uFFFD"))...)
	}
	return w.text[start:len(w.text):len(w.text)]
}

// cache holds texts that are made again and again.
type cache[K comparable] struct {
	texts map[K][]byte
	bytes int
}

// entryBytes is about what an entry takes beside its text.
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
