package pfwire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Frames in native code have an address and a mapping, which is their binary with its build id. Binaries that no stack uses are
// not written.
func TestMappings(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{TempDir: t.TempDir(), Problems: new(problem.Log)})
	unused := b.Mapping(timeline.Mapping{Path: "/lib/unused.so"})
	xul := b.Mapping(timeline.Mapping{Path: "/lib/libxul.so", BuildID: "0aff"})
	other := b.Mapping(timeline.Mapping{Path: `C:\other.dll`, BuildID: "no digits"})
	b.Frame(timeline.Frame{Function: "nobody", Mapping: unused, Address: 1})
	stack := b.Callstack([]timeline.FrameID{
		b.Frame(timeline.Frame{Function: "0x10", File: "/lib/libxul.so", Mapping: xul, Address: 0x10}),
		b.Frame(timeline.Frame{Function: "f", File: "f.cc", Line: 3, Mapping: xul}),
		b.Frame(timeline.Frame{Function: "g", File: "g.js", Line: 4}),
		b.Frame(timeline.Frame{Function: "h", File: `C:\other.dll`, Mapping: other, Address: 1 << 63}),
	})
	thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 1})
	ev := timeline.Event{Kind: timeline.Sample, Track: thread, TS: 1, Callstack: stack, Value: timeline.Int(1)}
	if err := b.Add(&ev); err != nil {
		t.Fatal(err)
	}
	trace := decode(t, write(t, finishTimeline(t, b), Options{}))

	interned := &protos.InternedData{}
	for _, p := range trace.GetPacket() {
		in := p.GetInternedData()
		interned.BuildIds = append(interned.BuildIds, in.GetBuildIds()...)
		interned.MappingPaths = append(interned.MappingPaths, in.GetMappingPaths()...)
		interned.Mappings = append(interned.Mappings, in.GetMappings()...)
		interned.SourcePaths = append(interned.SourcePaths, in.GetSourcePaths()...)
		interned.Frames = append(interned.Frames, in.GetFrames()...)
	}
	text := func(iid uint64, s string) *protos.InternedString {
		return &protos.InternedString{Iid: &iid, Str: []byte(s)}
	}
	frame := func(iid, function, mapping, pc, path uint64, line uint32) *protos.Frame {
		f := &protos.Frame{Iid: &iid, FunctionNameId: &function}
		if mapping != 0 {
			f.MappingId, f.RelPc = &mapping, &pc
		}
		if path != 0 {
			f.SourcePathIid, f.LineNumber = &path, &line
		}
		return f
	}
	two, three := uint64(2), uint64(3)
	want := &protos.InternedData{
		BuildIds:     []*protos.InternedString{text(2, "\x0a\xff"), text(3, "no digits")},
		MappingPaths: []*protos.InternedString{text(2, "lib/libxul.so"), text(3, `C:\other.dll`)},
		Mappings: []*protos.Mapping{
			{Iid: &two, BuildId: &two, PathStringIds: []uint64{2}},
			{Iid: &three, BuildId: &three, PathStringIds: []uint64{3}, WeftRelative: new(true)},
		},
		SourcePaths: []*protos.InternedString{text(1, "f.cc"), text(2, "g.js")},
		Frames: []*protos.Frame{
			frame(2, 1, 2, 0x10, 0, 0), frame(3, 2, 2, 0, 1, 3), frame(4, 3, 0, 0, 2, 4), frame(5, 4, 3, 1<<63, 0, 0),
		},
	}
	if diff := cmp.Diff(want, interned, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
