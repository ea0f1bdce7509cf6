package firefox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// oddValues replace the values in a profile: wrong kinds, and numbers at the limits of types.
var oddValues = []string{
	"null", "true", "-1", "0", "0.5", "2147483647", "4294967296", "9223372036854775808", "1e15", "1e308", "-1e308",
	`""`, `"x"`, `"5"`, `"\ud800"`, "[]", "[null]", "[[1]]", "{}", `{"a":1}`, `{"schema":{"stack":0},"data":[[1]]}`,
}

// mutation changes one value of a profile, except lengths of tables: another test covers missing rows.
type mutation struct {
	rnd   *rand.Rand
	until int // number of values up to the changed one
}

// apply returns a value, changed if it is the chosen one.
func (m *mutation) apply(v any) any {
	if m.until--; m.until == 0 {
		return json.RawMessage(oddValues[m.rnd.IntN(len(oddValues))])
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if key != "length" {
				v[key] = m.apply(v[key])
			}
		}
	case []any:
		for i := range v {
			v[i] = m.apply(v[i])
		}
	}
	return v
}

// count returns the number of values that apply visits.
func count(v any) int {
	m := mutation{until: math.MaxInt}
	m.apply(v)
	return math.MaxInt - m.until
}

func sortedKeys(v map[string]any) []string {
	keys := make([]string, 0, len(v))
	for key := range v {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// TestWrongValues puts odd values at random positions of all cases. Changing bytes, as in fuzzing, seldom leaves JSON
// that is read to the end; these changes always do, and also reorder the members.
func TestWrongValues(t *testing.T) {
	cases := readertest.Cases(t)
	rnd := rand.New(rand.NewPCG(5, 14))
	tried := 0
	for _, c := range cases {
		for range 20 {
			var profile any
			if json.Unmarshal([]byte(c.Input), &profile) != nil {
				break // a case with bad JSON
			}
			m := mutation{rnd, 1 + rnd.IntN(count(profile))}
			input, err := json.Marshal(m.apply(profile))
			if err != nil {
				t.Fatal(err)
			}
			tl, _, err := suite.Load(t, bytes.NewReader(input), Options{JSCalls: true})
			if err != nil {
				continue // the changed value identifies the profile
			}
			tried++
			t.Run(c.Name, func(t *testing.T) {
				t.Logf("%s", input) // shown on failure
				readertest.Verify(t, tl)
			})
			tl.Close()
		}
	}
	if tried < 10*len(cases) {
		t.Errorf("only %d changed profiles of %d cases could be read", tried, len(cases))
	}
}

// Members of a payload with two rows occur once, whether the members of its type are cached or too many to cache.
func TestMembersOfTwoRows(t *testing.T) {
	var fields, data []string
	for i := range maxMembers + 10 {
		fields = append(fields, fmt.Sprintf(`{"key":"k%d","format":"bytes"}`, i))
		data = append(data, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	payload := `{"type":"F",` + strings.Join(data, ",") + `}`
	got := suite.Dump(t, strings.NewReader(`{"meta":{"preprocessedProfileVersion":66,"startTime":0,"markerSchema":[{"name":"F","fields":[`+
		strings.Join(fields, ",")+`]}]},"shared":{"stringArray":["m"]},"threads":[{"name":"a","pid":1,"tid":1,"markers":{"length":2,
		"name":[0,0],"startTime":[1,null],"endTime":[null,2],"phase":[2,3],"data":[`+payload+`,`+payload+`]}}]}`), Options{})
	for i := range maxMembers + 10 {
		if key := fmt.Sprintf(" k%d=", i); strings.Count(got, key) != 1 {
			t.Fatalf("%s occurs %d times, not once:\n%s", key, strings.Count(got, key), got)
		}
	}
}

// Values that a column of long integers cannot represent are reported, except Firefox's own notation for a missing value.
func TestLongs(t *testing.T) {
	for text, want := range map[string]struct {
		value int64
		ok    bool
	}{
		"5": {5, true}, "18446744073709551600": {-16, true}, "null": {none, true}, "18446744073709552000": {none, true},
		"18446744073709552001": {none, false}, `"x"`: {none, false}, "1e99": {none, false}, "true": {none, false},
	} {
		var s jsonscan.Scanner
		s.Reset([]byte(text + " "))
		var c longs
		if ok := c.add(&s); ok != want.ok || len(c) != 1 || c[0] != want.value {
			t.Errorf("%s: %v %v", text, c, ok)
		}
	}
}

// The length that a table claims must not cause an allocation.
func TestLengthIsNoMemory(t *testing.T) {
	p, err := decode(t.Context(), strings.NewReader(`{"meta":{"preprocessedProfileVersion":66},"shared":{"frameTable":{"length":50000000,"func":[0]}},
		"threads":[]}`), Options{Options: readers.Options{Problems: new(problem.Log)}})
	if err != nil {
		t.Fatal(err)
	}
	if p.shared.frames.rows > 1 {
		t.Errorf("%d rows of a table whose longest column has 1", p.shared.frames.rows)
	}
}

// Threads of a process share its libraries: the cost of the libraries does not grow with the number of threads.
func TestThreadsShareLibraries(t *testing.T) {
	log := new(problem.Log)
	p, err := decode(t.Context(), strings.NewReader(`{"meta":{"version":24},"libs":[{"name":"l","start":1,"end":2}],
		"threads":[{"stringTable":["a"]},{"stringTable":["b"]},{"stringTable":["c"],"libs":[{"name":"own"}]}]}`), Options{Options: readers.Options{Problems: log}})
	if err != nil {
		t.Fatal(err)
	}
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
	defer b.Close()
	c := newConverter(context.Background(), b, Options{Options: readers.Options{Problems: log}})
	if err := c.convert(p); err != nil {
		t.Fatal(err)
	}
	first, second, own := c.threads[0].stacks, c.threads[1].stacks, c.threads[2].stacks
	if first == second || first.libs != second.libs || own.libs == first.libs || len(own.libs.list) != 1 {
		t.Error("threads do not share libraries, or share those of a single thread")
	}
}

// Whether a member is empty does not depend on the window.
func TestEmptyMember(t *testing.T) {
	for text, want := range map[string]uint64{"[]": 0, "[ ]": 0, "null": 0, "[0]": 1, "{}": 1, `""`: 1} {
		for _, window := range []int{16, 4096} {
			input := `{"meta":{"version":24},"threads":[{"unheardOf":` + text + `}],"unheardOf":` + text + `}`
			_, log, err := suite.Load(t, iotest.OneByteReader(strings.NewReader(input)), Options{Options: readers.Options{Window: window}})
			if err != nil {
				t.Fatal(err)
			}
			if got := log.Count(problem.TopLevelMemberSkipped); got != 2*want {
				t.Errorf("%s, window %d: counted %d times, want %d", text, window, got, 2*want)
			}
		}
	}
}
