package table

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
)

// Folding defines how the tables of many files are combined into one.
type Folding uint8

const (
	NotFolded Folding = iota
	Listed            // the rows of all files, worst first, each with its file
	Grouped           // rows with equal Group columns are combined
	Ranked            // Grouped, with percentiles of the Main column in individual rows
	RankedBy          // Grouped, with percentiles of the values from AddValue
)

// Role defines how a column is combined. A Listed table keeps all columns.
type Role uint8

const (
	Dropped Role = iota
	Group        // identifies a row
	Sum
	Main    // a Sum, with the share of each row in Table.Total of each file
	Largest // the maximum
)

// Totals holds numbers about a Listed table of one file, or of all files.
type Totals struct {
	Count      int64            // number of rows; set by Fold
	Recordings int              // number of files with rows; set by Fold
	Uncounted  int64            // number of items without a row because of a limit
	Blocking   timeline.Nanos   // of all items, with or without a row
	Omitted    map[string]int64 // number of items that were not requested, by kind
}

// Others is the name of the row for items that have no row of their own because there are too many.
const Others = "(others)"

// Limits of a Fold.
const (
	maxRows    = 1 << 17  // rows of all tables
	maxRowText = 16 << 20 // bytes of text of all tables, and of each Listed one
	maxListed  = 1 << 12  // rows of a Listed table
)

// Fold combines the tables of many files. It sorts values for percentiles on disk if they exceed its memory. It must be closed.
type Fold struct {
	Files int // number of files, over which shares are averaged

	tables []*folded
	groups []*group // by id
	text   int      // bytes of their names
	values *extsort.Ranks
}

// NewFold returns a fold of the given tables, which have no rows yet. The parameter memory bounds the bytes for values; if the
// values exceed it, they are sorted in a file in tempDir; "": the system's directory.
func NewFold(forms []*Table, memory int64, tempDir string) *Fold {
	f := &Fold{values: extsort.NewRanks(memory, tempDir)}
	for _, form := range forms {
		if form.Folding != NotFolded {
			f.tables = append(f.tables, &folded{form: *form, groups: map[string]*group{}, totals: Totals{Omitted: map[string]int64{}}})
		}
	}
	return f
}

// Close removes the temporary file.
func (f *Fold) Close() error { return f.values.Close() }

// folded is a table of a fold.
type folded struct {
	form   Table // the table of a file, without rows
	groups map[string]*group
	list   []*group

	touched []*group // groups with rows in the current file
	total   int64    // total of the current file for shares

	rows   []listedRow // if the table is Listed
	totals Totals
}

// group is a row of a Grouped table. It has one cell for each column of a file's table.
type group struct {
	key   string // its names
	cells []Cell
	last  bool
	files int
	ranks ranks
	id    int64

	shares, maxShare int64 // in billionths; shares is the sum over all files
	maxIn            string
	current          int64 // Main in the current file
	touched          bool
}

// ranks holds nearest-rank percentiles and the maximum.
type ranks struct{ count, p50, p75, p95, p99, max int64 }

// listedRow is a row of a Listed table.
type listedRow struct {
	file   string
	cells  []Cell // by column; nil until detach
	row    *Row   // nil after detach
	number int64  // value of the column by which the table is sorted
	json   []byte
	text   int // bytes
}

// Add adds the tables of a file. Errors come from the temporary file.
func (f *Fold) Add(file string, r *Report) error {
	f.Files++
	for _, t := range f.tables {
		t.total = 0
		for from := range r.tables() {
			if from.Name != t.form.Name {
				continue
			}
			t.updateTitles(from.Columns)
			add := f.addGroups
			if t.form.Folding == Listed {
				add = t.addListed
			}
			if err := add(file, t, from); err != nil {
				return err
			}
		}
		t.endFile(file)
	}
	return nil
}

// updateTitles copies the titles of a file's table. If titles differ among files, the key becomes the title.
func (t *folded) updateTitles(columns []Column) {
	columns = slices.Clone(columns)
	for k := range columns {
		if c := &columns[k]; t.form.Columns[k].Title != "" && t.form.Columns[k].Title != c.Title {
			c.Title = cmp.Or(c.Key, c.Title)
		}
	}
	t.form.Columns = columns
}

// addGroups adds the rows of a file to their groups.
func (f *Fold) addGroups(_ string, t *folded, from *Table) error {
	all := int64(0)
	for i := range from.Rows {
		row := &from.Rows[i]
		g := f.group(t, row)
		for k, cell := range row.Cells() {
			to, role := &g.cells[k], from.Columns[k].Role
			switch {
			case role == Group && to.Text == cell.Text:
				to.Note = cell.Note
				continue
			case role == Dropped || role == Group || cell.Absent:
				continue
			case role == Largest && to.Number > cell.Number:
				continue
			case role == Largest:
				to.Number, to.Count = cell.Number, cell.Count
			default:
				add(&to.Number, cell.Number)
				add(&to.Count, cell.Count)
			}
			if to.Absent = false; role == Main {
				add(&g.current, cell.Number)
				add(&all, cell.Number)
				if t.form.Folding == Ranked {
					if err := f.addValue(g, cell.Number); err != nil {
						return err
					}
				}
			}
		}
		if !g.touched {
			g.touched = true
			g.files++
			t.touched = append(t.touched, g)
		}
	}
	add(&t.total, cmp.Or(from.Total, all))
	return nil
}

// add adds a number without overflow; negative numbers count as 0.
func add(to *int64, n int64) { *to += min(max(n, 0), math.MaxInt64-*to) }

// group returns the group of a row, or the group for all other rows if there are too many groups.
func (f *Fold) group(t *folded, row *Row) *group {
	var names []string
	for k, cell := range row.Cells() {
		if t.form.Columns[k].Role == Group {
			names = append(names, cell.Text)
		}
	}
	key := strings.Join(names, "\x00")
	if g := t.groups[key]; g != nil {
		return g
	}
	others := len(f.groups) >= maxRows || f.text+len(key) > maxRowText
	if others {
		names = append([]string{Others}, make([]string, len(names)-1)...)
		key = strings.Join(names, "\x00")
		if g := t.groups[key]; g != nil {
			return g
		}
	}
	f.text += len(key)
	g := &group{key: key, cells: make([]Cell, len(t.form.Columns)), last: row.Last, id: int64(len(f.groups))}
	n := 0
	for k, cell := range row.Cells() {
		g.cells[k].Absent = true
		if t.form.Columns[k].Role == Group {
			g.cells[k] = Cell{Text: strings.Clone(names[n]), Number: cell.Number}
			if cell.Short != "" && !others { // a shortened name, or a text for an empty one
				if g.cells[k].Short = Elide(names[n], nameWidth); names[n] == "" {
					g.cells[k].Short = strings.Clone(cell.Short)
				}
			}
			n++
		}
	}
	f.groups, t.list, t.groups[key] = append(f.groups, g), append(t.list, g), g
	return g
}

// nameWidth is the maximum width of names in columns of the terminal.
const nameWidth = 44

// AddValue adds a value to the percentiles of a row of a RankedBy table. The parameter names holds the Group columns of the row.
// AddValue must be called before Add for the same file.
func (f *Fold) AddValue(table string, number int64, names ...string) error {
	i := slices.IndexFunc(f.tables, func(t *folded) bool { return t.form.Name == table })
	t := f.tables[i]
	g := t.groups[strings.Join(names, "\x00")]
	if g == nil {
		cells, n := make([]Cell, len(t.form.Columns)), 0
		for k := range cells {
			if t.form.Columns[k].Role == Group {
				cells[k] = Name(names[n], nameWidth)
				n++
			}
		}
		g = f.group(t, &Row{cells: cells})
	}
	return f.addValue(g, number)
}

func (f *Fold) addValue(g *group, number int64) error {
	g.ranks.count++
	g.ranks.max = max(g.ranks.max, number)
	return f.values.Add(g.id, number)
}

// shareUnit is the value of a share of 100 %.
const shareUnit = 1_000_000_000

// endFile adds the shares of groups in a file.
func (t *folded) endFile(file string) {
	for _, g := range t.touched {
		share := int64(0)
		if t.total > 0 {
			share = int64(float64(g.current)/float64(t.total)*shareUnit + 0.5)
		}
		add(&g.shares, share)
		if g.maxIn == "" || share > g.maxShare {
			g.maxShare, g.maxIn = share, file
		}
		g.touched, g.current = false, 0
	}
	t.touched = t.touched[:0]
}

// add adds the totals of a file, except those that Fold sets.
func (t *Totals) add(file *Totals) {
	add(&t.Uncounted, file.Uncounted)
	add((*int64)(&t.Blocking), int64(file.Blocking))
	for kind, n := range file.Omitted {
		t.Omitted[kind] += n
	}
}

// addListed adds the rows of a file and keeps the worst ones; of equal rows, the earliest.
func (t *folded) addListed(file string, _ *folded, from *Table) error {
	t.totals.add(&from.Totals)
	if len(from.Rows) == 0 {
		return nil
	}
	t.totals.Recordings++
	add(&t.totals.Count, int64(len(from.Rows)))
	at := find(from.Columns, from.Key)
	for i := range from.Rows {
		row := &from.Rows[i]
		t.rows = append(t.rows, listedRow{file: file, row: row, number: row.Cells()[at].Number})
	}
	slices.SortStableFunc(t.rows, func(a, b listedRow) int { return cmp.Compare(b.number, a.number) })
	worst, text := t.rows[:0], 0
	for _, row := range t.rows {
		if len(worst) == maxListed {
			break
		}
		if err := row.detach(from.Start); err != nil {
			return err
		}
		if text+row.text <= maxRowText {
			worst, text = append(worst, row), text+row.text
		}
	}
	clear(t.rows[len(worst):])
	t.rows = worst
	return nil
}

// detach copies the data of a row, because the memory of the recording will be freed.
func (r *listedRow) detach(start timeline.Nanos) error {
	if r.row == nil {
		return nil
	}
	record, err := r.row.Record()
	if err != nil {
		return err
	}
	r.json = jsonscan.AppendString([]byte(`{"file":`), r.file)
	r.json = append(r.json, `,"trace_start_ns":`...)
	r.json = append(strconv.AppendInt(r.json, int64(start), 10), ',')
	r.json = append(r.json, record[1:]...)
	r.text = len(r.json)
	for _, c := range r.row.Cells() {
		c.Text, c.Short, c.Long = strings.Clone(c.Text), strings.Clone(c.Short), strings.Clone(c.Long)
		r.text += len(c.Text) + len(c.Short) + len(c.Long)
		r.cells = append(r.cells, c)
	}
	r.row = nil
	return nil
}

// Finish computes the percentiles after the last Add. Errors come from the temporary file or ctx.
func (f *Fold) Finish(ctx context.Context) error {
	return f.values.Each(ctx, func(id, i, number int64) error {
		r := &f.groups[id].ranks
		for _, p := range [...]struct {
			percent int64
			to      *int64
		}{{50, &r.p50}, {75, &r.p75}, {95, &r.p95}, {99, &r.p99}} {
			if i == extsort.Percentile(r.count, p.percent) {
				*p.to = number
			}
		}
		return nil
	})
}

// Tables returns the combined tables.
func (f *Fold) Tables() (tables []*Table) {
	for _, t := range f.tables {
		if t.form.Folding == Listed {
			tables = append(tables, t.listed())
		} else {
			tables = append(tables, f.grouped(t))
		}
	}
	return tables
}

// List returns the totals of the Listed table with a name; nil if there is none.
func (f *Fold) List(name string) *Totals {
	for _, t := range f.tables {
		if t.form.Folding == Listed && t.form.Name == name {
			return &t.totals
		}
	}
	return nil
}

// Summary returns the summary of all lists, as the end of a line; "" if there are no lists.
func (f *Fold) Summary() (text string) {
	rows := 0
	for _, t := range f.tables {
		if rows += len(t.groups); t.form.Folding == Listed && f.Files > 0 {
			text += "; " + t.form.Summary(&t.totals)
		}
	}
	if rows == 0 && text == "" {
		return "; nothing found"
	}
	return text
}

// fileColumn returns a column of file paths; text shows only their last element.
func fileColumn[T any](key, title string, of func(*T) string) TypedColumn[T] {
	return Cells(Column{Key: key, Title: title}, func(row *T) Cell {
		return Cell{Text: of(row), Short: Elide(filepath.Base(of(row)), nameWidth)}
	})
}

func (t *folded) listed() *Table {
	form := t.form
	form.All = 0
	if n := len(t.rows); int64(n) < t.totals.Count {
		form.Notes = []string{fmt.Sprintf("the %s %s of %s %s", Thousands(n), form.Worst, Thousands(t.totals.Count), form.RowNoun)}
	}
	columns := []TypedColumn[listedRow]{fileColumn("file", "file", func(r *listedRow) string { return r.file })}
	for k, c := range form.Columns {
		columns = append(columns, Cells(c, func(r *listedRow) Cell { return r.cells[k] }))
	}
	out := New(form, t.rows, columns...)
	for i := range out.Rows {
		out.Rows[i].Record = func() ([]byte, error) { return t.rows[i].json, nil }
	}
	return out
}

func (f *Fold) grouped(t *folded) *Table {
	form := t.form
	form.All, form.IgnoresLimit, form.Nested, form.Key = 0, false, false, ""
	var names, numbers, shares []TypedColumn[*group]
	for k, c := range form.Columns {
		column := Cells(c, func(g **group) Cell { return (*g).cells[k] })
		column.Column.Fixed = false
		switch c.Role {
		case Group:
			names = append(names, column)
			continue
		case Dropped:
			continue
		case Main:
			form.Key = c.Key
			shares = []TypedColumn[*group]{
				Portions("mean_share_ppb", "share a file", func(g **group) int64 { return (*g).shares / int64(max(f.Files, 1)) }),
				Portions("max_share_ppb", "largest", func(g **group) int64 { return (*g).maxShare }).DropOrder(2),
				fileColumn("max_share_in", "in", func(g **group) string { return (*g).maxIn }).DropOrder(2),
			}
		}
		numbers = append(numbers, column)
	}
	names = append(names, Counts("recordings", "files", func(g **group) int { return (*g).files }))
	slices.SortFunc(t.list, func(a, b *group) int { return compareGroups(&form, a, b) })
	out := New(form, t.list, slices.Concat(names, numbers, form.Folding.percentiles(), shares)...)
	for i := range out.Rows {
		out.Rows[i].Last = t.list[i].last
		out.Rows[i].Record = func() ([]byte, error) { return out.keyed(&out.Rows[i]), nil }
	}
	return out
}

func (f Folding) percentiles() []TypedColumn[*group] {
	if f < Ranked {
		return nil
	}
	column := func(key, title string, spare uint8, of func(*ranks) int64) TypedColumn[*group] {
		return Times(key, title, func(g **group) timeline.Nanos { return timeline.Nanos(of(&(*g).ranks)) }).DropOrder(spare)
	}
	return []TypedColumn[*group]{
		column("p50_ns", "p50 ms", 5, func(r *ranks) int64 { return r.p50 }), column("p75_ns", "p75 ms", 7, func(r *ranks) int64 { return r.p75 }),
		column("p95_ns", "p95 ms", 4, func(r *ranks) int64 { return r.p95 }), column("p99_ns", "p99 ms", 6, func(r *ranks) int64 { return r.p99 }),
		column("max_ns", "max ms", 4, func(r *ranks) int64 { return r.max }),
	}
}

// compareGroups sorts groups by the numbers of Group cells, then by the Main column, then by sums, both descending; then by name.
func compareGroups(form *Table, a, b *group) int {
	order := 0
	for _, role := range []Role{Group, Main, Sum} {
		for k, c := range form.Columns {
			if c.Role != role {
				continue
			}
			if role == Group {
				order = cmp.Or(order, cmp.Compare(a.cells[k].Number, b.cells[k].Number))
			} else {
				order = cmp.Or(order, cmp.Compare(b.cells[k].Number, a.cells[k].Number))
			}
		}
	}
	return cmp.Or(order, cmp.Compare(a.key, b.key))
}
