package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// likeSlices adds slices that differ only in times and two numbers; every third slice has another member after these numbers. If
// byTemplate is set, the slices use a template.
func likeSlices(t *testing.T, to *Builder, track TrackID, slices int, byTemplate bool) {
	t.Helper()
	args := to.Args()
	name, category := []byte("function"), []byte("calls")
	begin := func() {
		args.Reset()
		args.Correlate("script")
		args.Key([]byte("url"))
		args.InternedString("script")
		args.OwnKey([]byte(OwnArgs))
		args.BeginDict()
		args.Key([]byte("text"))
		args.String([]byte(strings.Repeat("long ", 20))) // so that the dictionary's length takes two bytes
	}
	number := func(key string, v int64) KeyID {
		args.Key([]byte(key))
		id := args.KeyID()
		args.Int(v)
		return id
	}
	begin()
	keys := [2]KeyID{number("first", 0), number("second", 0)}
	var id TemplateID
	if byTemplate {
		begin()
		if id = to.Template(name, category, keys); id == 0 {
			t.Fatal("no template")
		}
	}
	for i := range slices {
		ts, first, second := Nanos(10*i), int64(i-1), int64(i)<<20
		var err error
		switch {
		case byTemplate && i%3 > 0:
			err = to.Add(&Event{Template: id, Kind: Slice, Track: track, Event: uint32(i), Offset: -1, TS: ts, Dur: 5, Numbers: [2]int64{first, second}})
		default:
			if byTemplate {
				to.BeginArgs(id)
			} else {
				begin()
			}
			number("first", first)
			number("second", second)
			if i%3 == 0 {
				number("third", 3)
			}
			args.EndDict()
			err = to.Add(&Event{
				Kind: Slice, Track: track, Event: uint32(i), Offset: -1, TS: ts, Dur: 5,
				Name: name, Category: category, Args: args.Args(),
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// seen lists the slices of a timeline as Walk, WalkLate and Occurrences return them, and counts those with a template.
func seen(t *testing.T, tl *Timeline) (_ string, templates int) {
	t.Helper()
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	walk(t, tl, func(it *Item) {
		fmt.Fprintln(&out, it.Kind, it.TS, it.Dur, it.Track, it.ThreadTime, it.Event, it.Offset, string(it.Name), it.NameID, it.CategoryID)
		for a := range tl.ArgList(it.Args) {
			fmt.Fprintf(&out, "%s %q\n", a.Key, a.Text())
			for m := range tl.Members(a) {
				fmt.Fprintf(&out, "\t%s %d %q\n", m.Key, m.Int(), m.Text())
			}
		}
		fmt.Fprintf(&out, "%s %x\n", tl.CorrelationOf(it.Args), it.Args)
	})
	err := tl.WalkLate(context.Background(), func(it *Item) error {
		if it.Template() != 0 {
			templates++
		}
		if err := it.ReadArgs(); err != nil {
			return err
		}
		fmt.Fprintf(&out, "%d %x\n", it.TS, it.Args)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = tl.Occurrences(context.Background(), true, func(group []Head) error {
		for i := range group {
			o := &group[i]
			fmt.Fprintln(&out, o.Kind, o.TS, o.End, o.NameID, o.CategoryID, o.ThreadTime, o.ThreadDuration)
			fmt.Fprintf(&out, "%x\n", o.Args)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), templates
}

// Slices with a template equal slices with full data, both in memory and on disk, and also if a pass adds them.
func TestTemplates(t *testing.T) {
	const n = 2000
	for _, extended := range []bool{false, true} {
		var want string
		for i, memory := range []int64{1 << 30, 1 << 30, noMemory} {
			b := testBuilder(t, memory)
			track := threadOf(b, 1)
			if !extended {
				likeSlices(t, b, track, n, i > 0)
			} else {
				add(t, b, Event{Kind: Instant, Track: track, TS: 5, Name: []byte("of the input")})
			}
			if err := b.spillForTest(memory); err != nil {
				t.Fatal(err)
			}
			tl, err := b.Finish(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer tl.Close()
			if extended {
				err := tl.Extend(context.Background(), func(starts []Head, x *Builder) error {
					if starts == nil {
						likeSlices(t, x, track, n, i > 0)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			got, templates := seen(t, tl)
			if want := n - (n+2)/3; i > 0 && templates != want {
				t.Errorf("extended %v, memory %d: %d slices have a template, want %d", extended, memory, templates, want)
			}
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("extended %v, memory %d: %s", extended, memory, firstDifferentLine(want, got))
			}
			if tl.Totals().Slices != n {
				t.Errorf("%d slices, want %d", tl.Totals().Slices, n)
			}
		}
	}
}

// Slices that a template cannot represent get no template and must be passed to Add in full.
func TestNoTemplate(t *testing.T) {
	keys := [2]KeyID{1, 2}
	for name, spoil := range map[string]func(b *Builder, keys *[2]KeyID){
		"names are full":      func(b *Builder, _ *[2]KeyID) { b.names.full = true },
		"categories are full": func(b *Builder, _ *[2]KeyID) { b.categories.full = true },
		"keys are full":       func(_ *Builder, keys *[2]KeyID) { keys[1] = 0 },
		"no dictionary":       func(b *Builder, _ *[2]KeyID) { b.args.EndDict() },
		"too many":            func(b *Builder, _ *[2]KeyID) { b.templates.bytes = maxTemplateBytes },
	} {
		b := testBuilder(t, 1<<20)
		b.args.Key([]byte("k"))
		b.args.BeginDict()
		with := keys
		spoil(b, &with)
		if id := b.Template([]byte("name"), []byte("category"), with); id != 0 {
			t.Errorf("%s: template %d", name, id)
		}
	}
	b := testBuilder(t, 1<<20)
	b.args.Key([]byte("k"))
	b.args.BeginDict()
	if first, second := b.Template([]byte("a"), nil, keys), b.Template([]byte("b"), nil, keys); !slices.Equal([]TemplateID{first, second}, []TemplateID{1, 2}) {
		t.Errorf("templates %d and %d", first, second)
	}
}
