package conformance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/recording"
)

// contextCase holds the expected contexts of the events in a case from conformance/contexts.
type contextCase struct {
	Options struct {
		Sources      []string `json:"sources"`
		FlowConflict string   `json:"flow_conflict"`
	} `json:"options"`
	Stamps [][2]json.RawMessage `json:"stamps"`
}

// options returns the options of a case.
func (c *contextCase) options(t *testing.T) (opts attribution.Options) {
	for _, name := range c.Options.Sources {
		opts.Sources = append(opts.Sources, attribution.Via(name))
	}
	opts.FlowConflict = attribution.FlowConflict(c.Options.FlowConflict)
	return opts
}

// The contexts written into a trace, read from its packets, match the cases.
func TestContextCases(t *testing.T) {
	root := recording.Path(t, "conformance/contexts/README.md")
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(root), "*", "*.expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, path := range paths {
		var c contextCase
		if err := json.Unmarshal(recording.Read(t, path), &c); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Base(filepath.Dir(path))
		if len(c.Stamps) == 0 || folder == "real" || folder == "fuzz" {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".expected.json")
		t.Run(folder+"/"+name, func(t *testing.T) {
			input := recording.Read(t, strings.TrimSuffix(path, ".expected.json")+".json")
			checked += checkContextCase(t, &c, input)
		})
	}
	if checked < 100 {
		t.Errorf("only %d sets were compared", checked)
	}
}

// checkContextCase compares a case and returns the number of compared sets.
func checkContextCase(t *testing.T, c *contextCase, input []byte) int {
	var trace struct {
		Events []struct {
			Name string  `json:"name"`
			TS   float64 `json:"ts"`
			Ph   string  `json:"ph"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(input, &trace); err != nil {
		t.Fatal(err)
	}
	opts := c.options(t)
	p, _ := mustProject(t, input, convert.Options{Attribute: &opts})
	for _, s := range c.Stamps {
		var event int
		if err := json.Unmarshal(s[0], &event); err != nil {
			t.Fatal(err)
		}
		ev := trace.Events[event]
		var found []*slice
		for _, s := range p.slices {
			if s.name == ev.Name && s.ts == int64(ev.TS*1000) && !strings.HasPrefix(s.track.name, "Context") {
				found = append(found, s)
			}
		}
		if len(found) != 1 {
			t.Errorf("%d slices are event %d, %s at %v", len(found), event, ev.Name, ev.TS)
			continue
		}
		if got, want := writtenContexts(t, found[0]), caseContexts(t, s[1]); !slices.Equal(got, want) {
			t.Errorf("event %d has\n%q, want\n%q", event, got, want)
		}
	}
	return len(c.Stamps)
}

// writtenContexts returns the contexts of a slice as lines.
func writtenContexts(t *testing.T, s *slice) []string {
	t.Helper()
	type context struct {
		id, via, hops string
		candidates    []string
	}
	byType := map[string]*context{}
	for _, a := range s.args.all {
		path, ok := strings.CutPrefix(a.key, engine.NoteKey+".")
		if !ok {
			continue
		}
		typ, member, _ := strings.Cut(path, ".")
		c := byType[typ]
		if c == nil {
			c = &context{hops: "0"}
			byType[typ] = c
		}
		switch {
		case member == "id":
			c.id = withoutProcess(a.value)
		case member == "via":
			c.via = a.value
		case member == "hops":
			c.hops = a.value
		case strings.HasPrefix(member, "candidates["):
			c.candidates = append(c.candidates, withoutProcess(a.value))
		case member != "name":
			t.Errorf("unknown argument %s", a.key)
		}
	}
	lines := []string{}
	for typ, c := range byType {
		slices.Sort(c.candidates)
		lines = append(lines, fmt.Sprintf("%s %s %s %s %v", typ, c.id, c.via, c.hops, c.candidates))
	}
	slices.Sort(lines)
	return lines
}

// withoutProcess removes the process from an identity, because the cases lack it.
func withoutProcess(id string) string {
	before, _, _ := strings.Cut(id, "@")
	return before
}

// caseContexts returns the expected contexts of a case in the form of writtenContexts.
func caseContexts(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var list [][]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, c := range list {
		var typ, via string
		var scope, id *string
		var hops int
		candidates := [][2]string{}
		for i, into := range []any{&typ, &scope, &id, &via, &hops, &candidates} {
			if i < len(c) {
				if err := json.Unmarshal(c[i], into); err != nil {
					t.Fatal(err)
				}
			}
		}
		names := []string{}
		for _, n := range candidates {
			names = append(names, n[0]+"/"+n[1])
		}
		slices.Sort(names)
		identity := "(unattributed)"
		if scope != nil {
			identity = *scope + "/" + *id
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %d %v", typ, identity, via, hops, names))
	}
	slices.Sort(lines)
	return lines
}
