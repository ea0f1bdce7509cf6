package attribution

import (
	"cmp"
	"fmt"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/trace"
)

// contexts converts the contexts in a set.
func contexts(r *attribution.Result, set attribution.SetID) []Context {
	list := r.Set(set)
	out := make([]Context, len(list))
	for i, c := range list {
		out[i] = Context{Type: c.Type, ID: identityOf(c.ID), Name: c.Name, Via: Via(c.Via.String()), Hops: c.Hops}
		for _, id := range c.Candidates {
			out[i].Candidates = append(out[i].Candidates, identityOf(id))
		}
	}
	return out
}

// TableOptions selects the contents of a table.
type TableOptions struct {
	// Type is the context type: one of Result.Types, or "Process" or "Thread" for tracks.
	Type string
	// By defines the rows. "context" (or "") gives each context a row; "page", "class", "entity" or "type" groups contexts;
	// "process", "thread" or "category" divides the rows. Both can be combined: "page,thread".
	By    string
	Limit int // maximum number of rows; 0: all. The unattributed row is extra, unless rows are divided
}

// Table holds the costs of the contexts of one type. The self times of all rows add up to the busy time.
type Table struct {
	Type         string
	By           string
	Busy         trace.Nanos // time during which threads ran slices
	Unattributed trace.Nanos
	Omitted      int   // number of rows beyond the limit
	Limited      int   // number of costs without a row of their own, and of inputs that the rows do not count
	Rows         []Row // most expensive first
}

// Row holds the costs of a context or a group of contexts, or of a part of these.
type Row struct {
	tables.Amounts
	SelfByCategory map[string]trace.Nanos
}

// Table returns the costs of the contexts of one type. Contexts without costs also have rows, unless rows are divided. For an
// unknown type, Table returns an error that lists the existing types.
func (r *Result) Table(opts TableOptions) (*Table, error) {
	group, split, err := tables.ParseBy(cmp.Or(opts.By, "context"))
	if err != nil {
		return nil, fmt.Errorf("attribution: %w", err)
	}
	t, err := r.tables.Table(tables.TableOptions{Type: opts.Type, Group: group, Split: split, Limit: opts.Limit})
	if err != nil {
		return nil, fmt.Errorf("attribution: %w", err)
	}
	out := &Table{Type: t.Type, By: t.By, Busy: t.Busy, Unattributed: t.Unattributed, Omitted: t.Omitted, Limited: t.Limited, Rows: make([]Row, len(t.Rows))}
	for i := range t.Rows {
		out.Rows[i] = rowOf(&t.Rows[i])
	}
	return out, nil
}

func rowOf(r *tables.Row) Row {
	out := Row{Amounts: r.Amounts, SelfByCategory: map[string]trace.Nanos{}}
	for c, ns := range r.SelfByCategory {
		if ns != 0 {
			out.SelfByCategory[producers.Category(c).String()] = ns
		}
	}
	return out
}
