// Package pftrace writes, reads and checks Perfetto traces.
//
// Write turns a timeline into packets: it describes tracks, interns texts and compresses bundles. PacketReader takes a
// file apart into packets again, and State follows what packets say about later ones: interned data, defaults and
// clocks. Verify holds a trace against the rules of the format; every test of weft that makes a trace applies it.
//
// What does not live here: the events of a Perfetto trace as timeline events, which package convert/perfetto makes; the
// wire format, which is in internal/wire; and the generated structs of the packets, which are in gen.
package pftrace
