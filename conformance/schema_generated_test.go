package conformance

import (
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/schema"
)

// The table in internal/schema and the structs in gen come from different plugins and must agree.
func TestTableSaysWhatTheStructsSay(t *testing.T) {
	seen := make(map[protoreflect.FullName]bool)
	compareMessage(t, seen, &schema.Messages[schema.MessageTracePacket], (*protos.TracePacket)(nil).ProtoReflect().Descriptor())
	compareMessage(t, seen, &schema.Messages[schema.MessageTrace], (*protos.Trace)(nil).ProtoReflect().Descriptor())
	if len(seen) < 40 {
		t.Errorf("only %d messages were compared", len(seen))
	}
}

func compareMessage(t *testing.T, seen map[protoreflect.FullName]bool, got *schema.Message, want protoreflect.MessageDescriptor) {
	if seen[want.FullName()] {
		return
	}
	seen[want.FullName()] = true
	if got.Name != string(want.Name()) || len(got.Fields) != want.Fields().Len() {
		t.Errorf("%s with %d fields instead of %s with %d", got.Name, len(got.Fields), want.FullName(), want.Fields().Len())
		return
	}
	for i, f := range got.Fields {
		fd := want.Fields().ByNumber(protoreflect.FieldNumber(f.Number))
		if fd == nil || i > 0 && f.Number <= got.Fields[i-1].Number {
			t.Errorf("%s: field %d is unknown or not in order", got.Name, f.Number)
			continue
		}
		if f.WireType != wireType(fd) || f.Repeated != fd.IsList() {
			t.Errorf("%s: %+v in the table", fd.FullName(), f)
		}
		described := fd.Message() != nil && fd.Message().ParentFile().Package() == "perfetto.protos"
		if (f.Message != 0) != described {
			t.Errorf("%s: message %d in the table", fd.FullName(), f.Message)
		} else if described {
			compareMessage(t, seen, &schema.Messages[f.Message], fd.Message())
		}
	}
}

func wireType(fd protoreflect.FieldDescriptor) uint8 {
	switch fd.Kind() {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return uint8(protowire.Fixed64Type)
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return uint8(protowire.Fixed32Type)
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return uint8(protowire.BytesType)
	case protoreflect.GroupKind:
		return uint8(protowire.StartGroupType)
	}
	return uint8(protowire.VarintType)
}

// Constants are named after the fields and values whose numbers they hold.
func TestConstants(t *testing.T) {
	for _, c := range []struct{ got, want int }{
		{schema.TrackEvent_NameIID, 10},
		{schema.DebugAnnotation_NameIID, 1},
		{schema.DebugAnnotationName_IID, 1},
		{schema.TrackEventLegacyEvent_DurationUS, 3},
		{schema.TrackEvent_TypeSliceBegin, 1},
		{schema.BuiltinClockBoottime, 6},
	} {
		if c.got != c.want {
			t.Errorf("%d, want %d", c.got, c.want)
		}
	}
}

// A program with its own copy of perfetto.protos, such as internal/outside, cannot link packages that import gen.
func TestOnlyTestsImportTheStructs(t *testing.T) {
	const gen = "github.com/weft-trace/weft/gen/"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		if strings.HasPrefix(names[0], gen) {
			continue
		}
		packages++
		for _, imported := range names[1:] {
			if strings.HasPrefix(imported, gen) {
				t.Errorf("%s imports %s", names[0], imported)
			}
		}
	}
	if packages < 20 {
		t.Errorf("only %d packages were looked at", packages)
	}
}
