package pfwire

import (
	"encoding/hex"
	"strings"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// internMappings defines the binaries of used frames, under the timeline's ids.
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

// buildID returns a build id as Perfetto expects it: the bytes of its hexadecimal digits. Any other text stays unchanged.
func buildID(digits string) []byte {
	if raw, err := hex.DecodeString(digits); err == nil {
		return raw
	}
	return []byte(digits)
}

// appendPlace appends the binary and address of a frame, if known.
func (w *writer) appendPlace(b []byte, f *timeline.Frame) []byte {
	if f.Mapping == 0 {
		return b
	}
	b = wire.AppendUint(b, schema.Frame_MappingID, uint64(f.Mapping))
	return wire.AppendUint(b, schema.Frame_RelPC, f.Address)
}

// frameSource returns the source file of a frame, or "" if it is the binary, which the mapping contains.
func (w *writer) frameSource(f *timeline.Frame) string {
	if f.Mapping != 0 && f.File == w.t.Mapping(f.Mapping).Path {
		return ""
	}
	return f.File
}
