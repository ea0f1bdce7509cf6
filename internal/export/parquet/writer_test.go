package parquet

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/weft-trace/weft/convert"
	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// The columns are the fields of weft.v1.Event, in order.
func TestColumns(t *testing.T) {
	var columns, fields []string
	for _, path := range newSchema().Columns() {
		if name := path[0]; len(columns) == 0 || columns[len(columns)-1] != name {
			columns = append(columns, name)
		}
	}
	list := (&weftv1.Event{}).ProtoReflect().Descriptor().Fields()
	for i := range list.Len() {
		fields = append(fields, string(list.Get(i).Name()))
	}
	if !slices.Equal(columns, fields) {
		t.Errorf("columns %q, fields %q", columns, fields)
	}
	if n := len(newColumns()); n != columnCount || newSchema().Columns()[colInputByte][0] != "input_byte" {
		t.Errorf("%d columns", n)
	}
}

// open opens a recording.
func open(t *testing.T, name string) *timeline.Timeline {
	t.Helper()
	tr, err := convert.Open(t.Context(), bytes.NewReader(recording.Bytes(t, name)), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return timeline.Of(tr)
}

// write writes all events of a timeline.
func write(t *testing.T, w io.Writer, tl *timeline.Timeline, opts Options) (*Writer, error) {
	t.Helper()
	file, rows := NewWriter(w, tl, opts), resolved.NewReader(tl)
	defer rows.Close()
	_, err := rows.Walk(t.Context(), resolved.Options{}, func(row *resolved.Row) error {
		_, err := file.Write(row)
		return err
	})
	if err == nil {
		err = file.Close(map[string]string{"a": "1", "b": "2"})
	}
	return file, err
}

// read returns the values of all rows, and the number of row groups.
func read(t *testing.T, data []byte) (rows []pq.Row, groups int) {
	t.Helper()
	file, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.RowGroups() {
		r := group.Rows()
		buf := make([]pq.Row, 100)
		for {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				rows = append(rows, row.Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows, len(file.RowGroups())
}

// Equal events result in identical bytes, and the size of groups does not affect the data.
func TestGroups(t *testing.T) {
	tl := open(t, "traces/chrome/chrome-devtools-small.json")
	var first, second, small bytes.Buffer
	for out, opts := range map[*bytes.Buffer]Options{&first: {}, &second: {}, &small: {SmallGroups: true}} {
		if _, err := write(t, out, tl, opts); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("other bytes at the second time")
	}
	want, groups := read(t, first.Bytes())
	if groups != 1 || len(want) < 2*smallGroups.rows {
		t.Errorf("%d groups, %d rows", groups, len(want))
	}
	got, groups := read(t, small.Bytes())
	if groups != len(want)/smallGroups.rows+1 {
		t.Errorf("%d small groups of %d rows", groups, len(got))
	}
	if !slices.EqualFunc(got, want, pq.Row.Equal) {
		t.Error("other rows in small groups")
	}
}

// Long texts end a group early, and texts that are too long are truncated; invalid UTF-8 does not reach readers.
func TestTexts(t *testing.T) {
	b := &trace.Builder{TempDir: t.TempDir()}
	thread := b.Thread(b.Process(1, "p"), 2, "bad \xff name")
	long := strings.Repeat("x", 3<<20)
	for i := range 12 {
		ev := trace.Event{Kind: trace.Instant, Track: thread, Time: trace.Nanos(i), Name: "a\xffb", Args: trace.NewDict(trace.NewArg("text", long))}
		if err := b.Add(ev); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var out bytes.Buffer
	file, err := write(t, &out, timeline.Of(tr), Options{SmallGroups: true})
	if err != nil || file.Truncated != 0 {
		t.Fatalf("%d truncated texts: %v", file.Truncated, err)
	}
	rows, groups := read(t, out.Bytes())
	if len(rows) != 12 || groups < 2 {
		t.Errorf("%d rows in %d groups", len(rows), groups)
	}
	for _, row := range rows {
		row.Range(func(column int, values []pq.Value) bool {
			switch text := values[0].String(); {
			case column == colName && text != "a\uFFFDb", column == colThreadName && text != "bad \uFFFD name":
				t.Errorf("column %d is %q", column, text)
			case column == colArgs && text != `{"text":"`+long+`"}`:
				t.Errorf("arguments of %d bytes", len(text))
			}
			return true
		})
	}

	file.text = file.text[:0]
	if got := file.keep(make([]byte, maxText+1)); len(got) != maxText || file.Truncated != 1 {
		t.Errorf("%d bytes are kept, %d texts truncated", len(got), file.Truncated)
	}
}

// failing is a writer that fails after some bytes, like a full disk.
type failing struct{ remaining int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.remaining -= len(b); f.remaining < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A write error is returned, wherever it happens.
func TestFailingWriter(t *testing.T) {
	tl := open(t, "traces/chrome/chrome-devtools-tiny.json")
	var whole bytes.Buffer
	if _, err := write(t, &whole, tl, Options{SmallGroups: true}); err != nil {
		t.Fatal(err)
	}
	for left := 0; left < whole.Len(); left += whole.Len()/20 + 1 {
		if _, err := write(t, &failing{left}, tl, Options{SmallGroups: true}); !errors.Is(err, errFull) {
			t.Errorf("after %d of %d bytes: %v", left, whole.Len(), err)
		}
	}
	if _, err := write(t, &failing{whole.Len() - 1}, tl, Options{SmallGroups: true}); !errors.Is(err, errFull) {
		t.Errorf("at the last byte: %v", err)
	}
}
