package firefox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// jslb returns a container with the given slabs; the first one is the root.
func jslb(slabs ...slab) []byte {
	le := binary.LittleEndian
	file := []byte(jslbMagic)
	for _, n := range []uint32{jslbVersion, uint32(len(slabs)), 0} {
		file = le.AppendUint32(file, n)
	}
	offset := uint32(len(file) + jslbEntry*len(slabs))
	for _, s := range slabs {
		for _, n := range []uint32{uint32(s.kind), offset, uint32(len(s.data))} {
			file = le.AppendUint32(file, n)
		}
		offset += uint32(len(s.data))
	}
	for _, s := range slabs {
		file = append(file, s.data...)
	}
	return file
}

func jsonSlab(text string) slab { return slab{kind: slabJSON, data: []byte(text)} }

// numberSlab returns a slab with numbers of any fixed size.
func numberSlab(kind slabKind, numbers any) slab {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, numbers); err != nil {
		panic(err)
	}
	return slab{kind: kind, data: b.Bytes()}
}

// A profile in a container equals the same profile as JSON, regardless of its number types.
func TestContainer(t *testing.T) {
	root := `{"meta":{"preprocessedProfileVersion":75,"startTime":1000,"interval":1},"shared":%s,"threads":[%s]}`
	shared := `{"stringArray":["a","b"],"stackTable":{"frame":%s,"prefixOffset":%s,"length":2},` +
		`"frameTable":{"func":%s,"line":%s,"innerWindowID":%s,"length":2},"funcTable":{"name":%s,"length":2}}`
	thread := `{"name":"T","pid":"1","tid":1,"samples":{"stack":%s,"time":%s,"weight":%s,"length":3},` +
		`"markers":{"name":%s,"startTime":%s,"endTime":%s,"phase":%s,"data":%s,"length":2}}`
	markers := `[{"type":"T","x":1},null]`

	plain := fmt.Sprintf(root,
		fmt.Sprintf(shared, "[0,1]", "[0,1]", "[0,1]", "[5,70000]", "[0,19327352833]", "[0,1]"),
		fmt.Sprintf(thread, "[1,0,1]", "[1.5,2.25,-3]", "[1,null,300]", "[0,1]", "[1,2]", "[null,4.5]", "[0,1]", markers))
	slabs := make([]slab, 1)
	reference := func(s slab) string {
		slabs = append(slabs, s)
		return fmt.Sprintf(`{"$s":%d}`, len(slabs)-1)
	}
	inner := fmt.Sprintf(shared, reference(numberSlab(slabInt32, []int32{0, 1})), reference(numberSlab(slabUint8, []uint8{0, 1})),
		reference(numberSlab(slabInt16, []int16{0, 1})), reference(numberSlab(slabUint32, []uint32{5, 70000})),
		reference(numberSlab(slabUint64, []uint64{0, 19327352833})), reference(numberSlab(slabInt8, []int8{0, 1})))
	slabs[0] = jsonSlab(fmt.Sprintf(root, reference(jsonSlab(inner)), reference(jsonSlab(
		fmt.Sprintf(thread, reference(numberSlab(slabUint16, []uint16{1, 0, 1})), reference(numberSlab(slabFloat64, []float64{1.5, 2.25, -3})),
			reference(numberSlab(slabFloat32, []float32{1, float32(math.NaN()), 300})), reference(numberSlab(slabInt64, []int64{0, 1})),
			"[1,2]", "[null,4.5]", "[0,1]", reference(jsonSlab(markers)))))))
	want := suite.Dump(t, strings.NewReader(plain), Options{})
	if !strings.Contains(want, "a;b") || strings.Contains(want, "firefox_value") {
		t.Fatalf("the plain profile is not read:\n%s", want)
	}
	container := jslb(slabs...)
	if diff := cmp.Diff(want, suite.Dump(t, bytes.NewReader(container), Options{})); diff != "" {
		t.Errorf("-plain +container:\n%s", diff)
	}
	for i := range container {
		_, log, err := suite.Load(t, bytes.NewReader(container[:i]), Options{})
		if err == nil && log.Count(problem.JSONUnterminated) != 1 {
			t.Errorf("that only %d of %d bytes of a container are there is not counted", i, len(container))
		}
		table := jslbHeader + len(slabs)*jslbEntry
		if i < table && err == nil || i >= table+len(slabs[0].data) && err != nil {
			t.Errorf("%d of %d bytes of a container: %v", i, len(container), err)
		}
	}
}

// If a container is truncated in the middle of a list, the rest is used.
func TestContainerThatIsCut(t *testing.T) {
	container := jslb(jsonSlab(`{"meta":{"preprocessedProfileVersion":75,"startTime":0,"interval":1},"threads":[{"name":"T","pid":"1","tid":1,
		"samples":{"stack":[null,null,null],"time":{"$s":1},"length":3}}],"counters":[{"name":"c","pid":"1","samples":{"time":[1,2],"count":[0,7]}}]}`),
		numberSlab(slabFloat64, []float64{1, 2, 3}))
	got := suite.Dump(t, bytes.NewReader(container[:len(container)-7]), Options{})
	for _, want := range []string{"\n2000000 sample 1/1 1\n", "counter:c 7", "firefox_column_short 1:", "json_unterminated 1:"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if strings.Contains(got, "3000000 sample") {
		t.Errorf("a sample is made up:\n%s", got)
	}
}

// Containers can contain long lists.
func TestLongSlab(t *testing.T) {
	for _, n := range []int{0, 1, numbersAtOnce - 1, numbersAtOnce, numbersAtOnce + 1, 3*numbersAtOnce + 5} {
		numbers := make([]int32, n)
		for i := range numbers {
			numbers[i] = int32(i)
		}
		s := &slabs{size: 1 << 20, list: []slab{numberSlab(slabInt32, numbers)}}
		d := &decoder{Document: readers.NewDocument(jsonscan.NewSize(strings.NewReader(`{"$s":0} `), 64), nil), slabs: s}
		var got ints
		if err := d.column(&got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(numbers, []int32(got)) {
			t.Errorf("%d numbers became %d", n, len(got))
		}
	}
}

// Circular and excessive references to slabs are errors.
func TestContainerWithoutEnd(t *testing.T) {
	for name, slabs := range map[string][]slab{
		"circle": {jsonSlab(`{"meta":{},"threads":{"$s":1}}`), jsonSlab(`{"$s":1}`)},
		"often":  {jsonSlab(`{"meta":{},"threads":[` + strings.Repeat(`{"$s":1},`, 1000) + `]}`), jsonSlab(`{"markers":` + strings.Repeat(" ", 5000) + `{}}`)},
		"none":   {jsonSlab(`{"meta":{},"threads":{"$s":9}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := suite.Load(t, bytes.NewReader(jslb(slabs...)), Options{}); err == nil {
				t.Error("no error")
			} else {
				t.Log(err)
			}
		})
	}
}
