package arrow

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/trace"
)

// buildWeft builds weft and returns its path.
func buildWeft(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "weft")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", program, "./cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// run runs a command and returns its output.
func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &errors)
	}
	return out
}

// Every row of every recording, read by Arrow, agrees with JSON lines, weft dump and trace.Events.
func TestRecordings(t *testing.T) {
	weft := buildWeft(t)
	root, files, rows := filepath.Join("..", "..", "..", "testdata", "traces"), 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || exec.Command(weft, "info", path).Run() != nil { // some are unreadable
			return err
		}
		files++
		t.Run(filepath.Base(path), func(t *testing.T) { rows += compare(t, weft, path) })
		return nil
	})
	if err != nil || files < 50 || rows < 100_000 {
		t.Errorf("%d recordings, %d rows: %v", files, rows, err)
	}
	t.Logf("%d recordings, %d rows", files, rows)
}

// Arrow also reads exports with contexts, small row groups or filters, and agrees with JSON lines.
func TestOptions(t *testing.T) {
	weft := buildWeft(t)
	path := filepath.Join("..", "..", "..", "testdata", "traces", "chrome", "chrome-devtools-tiny.json.gz")
	for _, options := range [][]string{
		{}, {"--attribute"}, {"--memory", "32MiB"}, {"--types", "slice,sample"}, {"--name", "RunTask"}, {"--types", "counter", "--name", "RunTask"},
	} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			table := readTable(t, weft, path, options...)
			defer table.Release()
			compareLines(t, table, run(t, weft, slices.Concat([]string{"export", "--as", "jsonl", "-o", "-", "-q"}, options, []string{path})...))
			if text := fmt.Sprint(options); strings.Contains(text, "attribute") && count(t, table, "contexts") == 0 {
				t.Error("no event has contexts")
			}
		})
	}
}

// compare compares the events of a recording in all forms and returns their number.
func compare(t *testing.T, weft, path string) int {
	table := readTable(t, weft, path, "--places")
	defer table.Release()
	compareLines(t, table, run(t, weft, "export", "--as", "jsonl", "--places", "-o", "-", "-q", path))
	compareText(t, table, run(t, weft, "dump", path))
	compareEvents(t, table, path)
	return int(table.NumRows())
}

// readTable exports a trace and reads the result.
func readTable(t *testing.T, weft, path string, options ...string) arrow.Table {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.parquet")
	run(t, weft, slices.Concat([]string{"export", "--as", "parquet", "-q", "-o", out}, options, []string{path})...)
	f, err := file.OpenParquetFile(out, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, key := range []string{"weft.v1.header", "weft.v1.footer"} {
		if text := f.MetaData().KeyValueMetadata().FindValue(key); text == nil || !json.Valid([]byte(*text)) {
			t.Errorf("%s is not JSON", key)
		}
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// each calls fn for each value in a column.
func each(t *testing.T, table arrow.Table, name string, fn func(i int, column arrow.Array, at int)) {
	t.Helper()
	indexes := table.Schema().FieldIndices(name)
	if len(indexes) != 1 {
		t.Fatalf("%d columns %s", len(indexes), name)
	}
	i := 0
	for _, chunk := range table.Column(indexes[0]).Data().Chunks() {
		for at := range chunk.Len() {
			fn(i, chunk, at)
			i++
		}
	}
}

// count returns the number of non-null values in a column.
func count(t *testing.T, table arrow.Table, name string) (n int) {
	each(t, table, name, func(_ int, column arrow.Array, at int) {
		if !column.IsNull(at) {
			n++
		}
	})
	return n
}

// text returns a value as JSON text, or "" for values that JSON lines omit.
func text(column arrow.Array, at int) string {
	if column.IsNull(at) {
		return ""
	}
	switch c := column.(type) {
	case *array.Int64:
		return strconv.FormatInt(c.Value(at), 10)
	case *array.Uint64:
		return strconv.FormatUint(c.Value(at), 10)
	case *array.Uint32:
		return strconv.FormatUint(uint64(c.Value(at)), 10)
	case *array.Float64:
		return double(c.Value(at))
	case *array.String:
		return quoted(c.Value(at))
	case *array.List:
		return list(c, at)
	}
	return fmt.Sprintf("unexpected %T", column)
}

func list(c *array.List, at int) string {
	start, end := c.ValueOffsets(at)
	var items []string
	for i := int(start); i < int(end); i++ {
		switch values := c.ListValues().(type) {
		case *array.Struct:
			var members []string
			for k := range values.NumField() {
				members = append(members, quoted(values.DataType().(*arrow.StructType).Field(k).Name)+":"+text(values.Field(k), i))
			}
			items = append(items, "{"+strings.Join(members, ",")+"}")
		default:
			items = append(items, text(values, i))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ",") + "]"
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // never fails for strings
	return string(b)
}

func double(v float64) string {
	switch {
	case math.IsNaN(v):
		return `"NaN"`
	case math.IsInf(v, 0):
		return map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[v > 0]
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// absent lists the columns for which JSON lines omit 0.
var absent = []string{"parent_id", "depth", "lane", "made_up", "input", "input_event"}

// compareLines compares a table with JSON lines.
func compareLines(t *testing.T, table arrow.Table, lines []byte) {
	t.Helper()
	var events []map[string]json.RawMessage
	for line := range bytes.Lines(lines) {
		var event map[string]json.RawMessage
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, event)
	}
	if len(events) != int(table.NumRows()) {
		t.Fatalf("%d lines, %d rows", len(events), table.NumRows())
	}
	found := 0
	for _, field := range table.Schema().Fields() {
		name := field.Name
		each(t, table, name, func(i int, column arrow.Array, at int) {
			want, ok := events[i][name]
			if ok {
				found++
			}
			got := text(column, at)
			switch name {
			case "track", "stack": // compareText compares these
				return
			case "args", "contexts": // JSON text in both
				if !column.IsNull(at) {
					got = column.(*array.String).Value(at)
				}
			default:
				want = normal(t, want)
			}
			if slices.Contains(absent, name) && got == "0" {
				got = ""
			}
			if got != string(want) {
				t.Fatalf("event %d: %s is %s, want %s", i, name, got, want)
			}
		})
	}
	members := 0
	for _, event := range events {
		members += len(event)
	}
	if found != members {
		t.Errorf("%d members, %d of which are columns", members, found)
	}
}

// normal returns JSON in this package's formatting.
func normal(t *testing.T, value json.RawMessage) json.RawMessage {
	if len(value) == 0 || value[0] != '"' && value[0] != '[' {
		return value
	}
	var texts []string
	if value[0] == '"' {
		var one string
		if err := json.Unmarshal(value, &one); err != nil {
			t.Fatal(err)
		}
		return json.RawMessage(quoted(one))
	}
	if json.Unmarshal(value, &texts) == nil {
		for i := range texts {
			texts[i] = quoted(texts[i])
		}
		return json.RawMessage("[" + strings.Join(texts, ",") + "]")
	}
	return value
}

// compareText compares tracks and stacks with the output of weft dump.
func compareText(t *testing.T, table arrow.Table, lines []byte) {
	t.Helper()
	type dumped struct{ track, stack string }
	var events []dumped
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
	for line := range bytes.Lines(lines) {
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
		if fields[2] == "end" {
			continue
		}
		event := dumped{track: unescape.Replace(fields[3])}
		for _, field := range fields[6:] {
			if stack, ok := strings.CutPrefix(field, "stack="); ok {
				event.stack = unescape.Replace(stack)
			}
		}
		events = append(events, event)
	}
	if len(events) != int(table.NumRows()) {
		t.Fatalf("%d lines of weft dump, %d rows", len(events), table.NumRows())
	}
	check := func(name string, of func(*dumped) string) {
		each(t, table, name, func(i int, column arrow.Array, at int) {
			want := of(&events[i])
			if got := column.(*array.String).Value(at); got != want || (want == "") != column.IsNull(at) {
				t.Fatalf("event %d: %s is %q, want %q", i, name, got, want)
			}
		})
	}
	check("track", func(d *dumped) string { return d.track })
	check("stack", func(d *dumped) string { return d.stack })
}

// compareEvents compares the times and the structure of a trace with the Go API.
func compareEvents(t *testing.T, table arrow.Table, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := convert.Open(t.Context(), bufio.NewReader(f), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var want []string
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		dur := ""
		if ev.Kind == trace.Slice && !ev.Unfinished {
			dur = strconv.FormatInt(int64(ev.Duration), 10)
		}
		want = append(want, fmt.Sprintf("%s %d %s %d %d %d %d", ev.Kind, ev.Time, dur, ev.ID, ev.Parent, ev.Depth, len(ev.FlowsOut)))
	}
	got := make([]string, table.NumRows())
	for _, name := range []string{"kind", "ts_ns", "dur_ns", "id", "parent_id", "depth"} {
		each(t, table, name, func(i int, column arrow.Array, at int) {
			got[i] += strings.Trim(text(column, at), `"`) + " "
		})
	}
	each(t, table, "flows_out", func(i int, column arrow.Array, at int) {
		start, end := column.(*array.List).ValueOffsets(at)
		got[i] += strconv.FormatInt(end-start, 10)
	})
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("event %d of %d and %d: %s, want %s", i, len(got), len(want), got[i], want[i])
			}
		}
		t.Fatalf("%d rows, %d events", len(got), len(want))
	}
}
