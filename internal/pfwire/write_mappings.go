package pfwire

import (
	"encoding/hex"
	"strings"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// internMappings defines the binaries of the frames that are used. They keep their ids of the timeline.
func (w *writer) internMappings(in *internWriter, usedFrames []bool) error {
	used := make([]bool, w.t.MappingCount()+1)
	for id := 1; id < len(usedFrames); id++ {
		if usedFrames[id] {
			used[w.t.Frame(timeline.FrameID(id)).Mapping] = true
		}
	}
	for id := 1; id < len(used); id++ {
		if !used[id] {
			continue
		}
		m := w.t.Mapping(timeline.MappingID(id))
		path, build := strings.TrimPrefix(m.Path, "/"), buildID(m.BuildID)
		if path != "" {
			if err := in.text(schema.InternedData_MappingPaths, uint64(id), []byte(path)); err != nil {
				return err
			}
		}
		if len(build) > 0 {
			if err := in.text(schema.InternedData_BuildIDs, uint64(id), build); err != nil {
				return err
			}
		}
		b, mark := wire.BeginMessage(in.begin(), schema.InternedData_Mappings)
		b = wire.AppendUint(b, schema.Mapping_IID, uint64(id))
		if len(build) > 0 {
			b = wire.AppendUint(b, schema.Mapping_BuildID, uint64(id))
		}
		if path != "" {
			b = wire.AppendUint(b, schema.Mapping_PathStringIDs, uint64(id))
			if path == m.Path {
				b = wire.AppendUint(b, schema.Mapping_WeftRelative, 1)
			}
		}
		if err := in.done(wire.EndMessage(b, mark)); err != nil {
			return err
		}
	}
	return nil
}

// buildID returns a build id as Perfetto has it: the bytes that the hexadecimal digits stand for. An id that is something
// else stays as it is.
func buildID(digits string) []byte {
	if raw, err := hex.DecodeString(digits); err == nil {
		return raw
	}
	return []byte(digits)
}

// appendPlace appends where the code of a frame lies, if that is known.
func (w *writer) appendPlace(b []byte, f *timeline.Frame) []byte {
	if f.Mapping == 0 {
		return b
	}
	b = wire.AppendUint(b, schema.Frame_MappingID, uint64(f.Mapping))
	return wire.AppendUint(b, schema.Frame_RelPC, f.Address)
}

// frameSource is the source file of a frame, but not a binary, which its mapping has.
func (w *writer) frameSource(f *timeline.Frame) string {
	if f.Mapping != 0 && f.File == w.t.Mapping(f.Mapping).Path {
		return ""
	}
	return f.File
}
