// Package pfwire knows Perfetto's wire, in both directions.
//
// PacketReader takes a file apart into packets, and State follows what packets say about later ones: interned data, defaults
// and clocks. Write turns a timeline into packets: it describes tracks, interns texts and compresses bundles. Rewrite copies
// a file packet by packet and adds to it.
//
// What does not live here: what the packets of another producer mean as events of a timeline, which
// internal/readers/perfetto knows; the rules of the format, which package pftrace holds a file against; protobuf itself
// (internal/wire); and the generated structs of the packets (gen).
package pfwire
