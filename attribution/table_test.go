package attribution

import (
	"slices"
	"testing"
)

// rowOf returns the row of a context; nil if there is none.
func rowOf(t *Table, id string) *Row {
	if i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.ID == id }); i >= 0 {
		return &t.Rows[i]
	}
	return nil
}

// Objects that were deleted keep the name, the class and the parent that they had last; an object of which only its
// begin and end are known has its class.
func TestDeletedObjects(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"O","name":"RenderFrame","ts":0,"pid":1,"tid":1,"id":"0x1","args":{"snapshot":{"url":"http://old.test/"}}}`,
		`{"ph":"O","name":"RenderFrame","ts":0,"pid":1,"tid":1,"id":"0x2","args":{"snapshot":{"url":"http://outer.test/"}}}`,
		`{"ph":"N","name":"Worker","ts":0,"pid":1,"tid":1,"id":"0x3"}`,
		`{"ph":"O","name":"RenderFrame","ts":1,"pid":1,"tid":1,"id":"0x1","args":{"snapshot":{"url":"http://inner.test/","parent":{"id_ref":"0x2"}}}}`,
		`{"ph":"(","name":"C","ts":2,"pid":1,"tid":1,"id":"0x1"}`,
		x("work", 1, 3, ""),
		`{"ph":")","name":"C","ts":20,"pid":1,"tid":1,"id":"0x1"}`,
		`{"ph":"D","name":"RenderFrame","ts":21,"pid":1,"tid":1,"id":"0x1"}`,
		`{"ph":"D","name":"RenderFrame","ts":21,"pid":1,"tid":1,"id":"0x2"}`,
		`{"ph":"(","name":"C","ts":22,"pid":1,"tid":1,"id":"0x3"}`,
		x("work", 1, 23, ""),
		`{"ph":")","name":"C","ts":40,"pid":1,"tid":1,"id":"0x3"}`,
		`{"ph":"D","name":"Worker","ts":41,"pid":1,"tid":1,"id":"0x3"}`,
	), Options{})
	table := a.Table(TableOptions{Type: "C"})
	for _, want := range []Row{
		{ID: "ptr/0x1@1", Name: "http://inner.test/", Class: "RenderFrame", Parent: "ptr/0x2@1", Self: 10_000, Total: 10_000},
		{ID: "ptr/0x2@1", Name: "http://outer.test/", Class: "RenderFrame", Total: 10_000},
		{ID: "ptr/0x3@1", Name: "Worker 0x3", Class: "Worker", Self: 10_000, Total: 10_000},
	} {
		got := rowOf(table, want.ID)
		if got == nil {
			t.Errorf("no row of %s", want.ID)
			continue
		}
		if got.Name != want.Name || got.Class != want.Class || got.Parent != want.Parent || got.Self != want.Self || got.Total != want.Total {
			t.Errorf("row %+v, want %+v", *got, want)
		}
	}
}
