package attribution

import (
	"cmp"
	"fmt"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/trace"
)

// contexts returns the contexts of a set.
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

// TableOptions say what a table shows.
type TableOptions struct {
	// Type is the type of the contexts: one of Result.Types, or "Process" or "Thread" for the tracks on which work was done.
	Type string
	// By says what a row is, and what rows are divided by: "context" (or "") for each
	// context, "page", "class", "entity" or "type" for groups of them, divided by "process", "thread" or "category". One of
	// both kinds goes with a comma: "page,thread".
	By    string
	Limit int // of rows; 0: none. The row of what is unattributed stays, unless rows are divided
}

// Table says what each context of a type cost. The self times of all rows together are the busy time.
type Table struct {
	Type         string
	By           string
	Busy         trace.Nanos // time in which threads ran slices
	Unattributed trace.Nanos
	Omitted      int   // rows beyond the limit
	Limited      int   // costs without a row of their own, and inputs that rows do not count
	Rows         []Row // the most expensive first
}

// Row is what one context cost, or a group of contexts, or a part of these.
type Row struct {
	tables.Amounts
	SelfByCategory map[string]trace.Nanos
}

// Table returns the costs of the contexts of a type. Contexts without cost have rows as well, unless rows are divided. A
// type that does not exist is an error that lists those that do.
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
