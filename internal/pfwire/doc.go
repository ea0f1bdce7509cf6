// Package pfwire reads and writes Perfetto's trace format.
//
// PacketReader splits a file into packets, and State tracks the data in packets that later ones depend on: interned data, defaults
// and clocks. Write converts a timeline to packets: it describes tracks, interns texts and compresses bundles. Rewrite copies a file
// packet by packet and adds to it.
//
// What does not live here: the meaning of other producers' packets as events of a timeline (internal/readers/perfetto); the rules of
// the format, which package pftrace verifies; protobuf itself (internal/wire); and the generated structs of the packets (gen).
package pfwire
