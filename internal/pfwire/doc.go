// Package pfwire reads and writes Perfetto's trace format.
//
// PacketReader splits a file into packets, and State tracks the data in packets that later ones depend on: interned data, defaults
// and clocks. Write converts a timeline to packets: it describes tracks, interns texts and compresses bundles. Rewrite copies a file
// packet by packet and adds to it.
//
// Other packages contain the conversion of other producers' packets to timeline events (internal/readers/perfetto), the rules of
// the format (pftrace, which verifies them), protobuf itself (internal/wire), and the generated packet structs (gen).
package pfwire
