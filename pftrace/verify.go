package pftrace

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// VerifyOptions configures Verify. The zero value suits most uses.
type VerifyOptions struct {
	// Strict applies the rules on nesting and flows to all packets, not only to those written by weft.
	Strict bool
	// MaxCases limits the cases reported for each finding; 0 means 5. All cases are counted.
	MaxCases int
	// MaxBuffered limits the events, including flow ends, that are buffered for sorting by time; 0 means 4 Mi, which take 200
	// MiB. A trace in time order needs at most a quarter of the buffer, however long it is.
	MaxBuffered int
}

// VerifyReport is the result of Verify. It can be marshalled to JSON.
type VerifyReport struct {
	// Producer is the version of weft that wrote the trace or a part of it; empty for traces from other producers.
	Producer string `json:"producer,omitempty"`
	Bytes    int64  `json:"bytes"`
	Packets  int64  `json:"packets"`
	Bundles  int64  `json:"bundles"`
	Events   int64  `json:"events"`

	Violations uint64 `json:"violations"`
	Warnings   uint64 `json:"warnings"`
	// Findings lists the violations, followed by the warnings, each in rule order.
	Findings []VerifyFinding `json:"findings"`
}

// OK reports whether the trace has no violations.
func (r *VerifyReport) OK() bool { return r.Violations == 0 }

// VerifyFinding is a rule that the trace breaks.
type VerifyFinding struct {
	Rule     string       `json:"rule"`     // stable name
	Warning  bool         `json:"warning"`  // false for a violation
	Sentence string       `json:"sentence"` // the rule
	Section  string       `json:"section"`  // of docs/formats/perfetto.md
	Count    uint64       `json:"count"`
	Cases    []VerifyCase `json:"cases"` // the first few
}

// VerifyCase is a position at which a rule is broken.
type VerifyCase struct {
	Packet int64  `json:"packet"` // index of the packet; -1 if the position is not in a packet
	Offset int64  `json:"offset"` // byte offset of the packet, or of its bundle, in the file
	Detail string `json:"detail"`
}

// String returns the position and the detail: "packet 12 (byte 3456): …".
func (c VerifyCase) String() string {
	if c.Packet < 0 {
		return fmt.Sprintf("byte %d: %s", c.Offset, c.Detail)
	}
	return fmt.Sprintf("packet %d (byte %d): %s", c.Packet, c.Offset, c.Detail)
}

// Verify checks a Perfetto trace, which must not be compressed as a whole, against the rules of perfetto.md 18.
//
// The trace attribute weft.version identifies packets written by weft: the packets on the same sequence as the attribute, or all
// packets if the packet with the attribute has no sequence id. On other sequences, END events without BEGIN, flows that were
// never started and similar findings are only warnings, because producers that record into a ring buffer cannot avoid them.
//
// Beyond VerifyOptions.MaxBuffered, memory grows with the number of interned ids, tracks, open slices and open flows, but not
// with the length of the trace. Errors come from src or ctx; the report lists all faults in the trace itself.
func Verify(ctx context.Context, src io.Reader, opts VerifyOptions) (*VerifyReport, error) {
	if opts.MaxCases <= 0 {
		opts.MaxCases = 5
	}
	if opts.MaxBuffered <= 0 {
		opts.MaxBuffered = 4 << 20
	}
	v := newVerifier(opts)
	head := bufio.NewReaderSize(src, 64<<10)
	first, err := head.Peek(1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(first) == 0 {
		v.foundAt(ruleFirstByte, position{packet: -1}, "the file is empty")
	}
	if len(first) > 0 && first[0] != wire.Len|schema.Trace_Packet<<3 {
		v.foundAt(ruleFirstByte, position{packet: -1}, "the first byte is %#02x", first[0])
	}
	v.reader = pfwire.NewPacketReader(head)
	v.reader.OnField = v.skippedField
	v.reader.OnBundle = v.bundle
	if err := v.readPackets(ctx); err != nil {
		return nil, err
	}
	v.finish()
	return v.makeReport(), nil
}

// position is the position of a packet: its index and its byte offset in the file.
type position struct {
	packet, offset int64
}

// tallyKey identifies a tally: a rule and, if only weft's own sequences must obey the rule, a sequence.
type tallyKey struct {
	rule rule
	seq  message.SequenceKey
}

type tally struct {
	count uint64
	cases []VerifyCase
}

// verifier is the state of one run. Each group of checks has its own file.
type verifier struct {
	opts    VerifyOptions
	reader  *pfwire.PacketReader
	schema  *schemaMessage
	report  VerifyReport
	tallies map[tallyKey]*tally
	unknown map[unknownField]*unknownUse

	own    map[message.SequenceKey]bool // sequences written by weft
	ownAll bool

	state     *pfwire.State
	fields    message.TracePacket // of the current packet
	at        position
	sequences map[message.SequenceKey]*verifySequence
	event     message.TrackEvent
	iids      []uint64 // scratch

	versions    []string     // versions already reported by needsVersion
	bundleCodec pfwire.Codec // pfwire.Zlib also for pfwire.Gzip: both use the same field
	lastTime    int64

	tracks verifyTracks
	order  verifyOrder
}

func newVerifier(opts VerifyOptions) *verifier {
	return &verifier{
		opts:      opts,
		schema:    newSchema(),
		tallies:   make(map[tallyKey]*tally),
		unknown:   make(map[unknownField]*unknownUse),
		own:       make(map[message.SequenceKey]bool),
		state:     pfwire.NewState(),
		sequences: make(map[message.SequenceKey]*verifySequence),
		tracks:    newVerifyTracks(),
		order:     newVerifyOrder(opts.MaxBuffered),
	}
}

// found counts a violation of rule r at the current packet.
func (v *verifier) found(r rule, format string, args ...any) { v.foundAt(r, v.at, format, args...) }

// foundAt counts a violation at another position, on the sequence of the current packet.
func (v *verifier) foundAt(r rule, at position, format string, args ...any) {
	v.foundOn(r, at, v.fields.Sequence, format, args...)
}

// foundOn counts a violation at a position on a sequence.
func (v *verifier) foundOn(r rule, at position, seq message.SequenceKey, format string, args ...any) {
	key := tallyKey{rule: r}
	if rules[r].class == ownViolation {
		key.seq = seq
	}
	t := v.tallies[key]
	if t == nil {
		t = new(tally)
		v.tallies[key] = t
	}
	t.count++
	if len(t.cases) < v.opts.MaxCases {
		t.cases = append(t.cases, VerifyCase{Packet: at.packet, Offset: at.offset, Detail: fmt.Sprintf(format, args...)})
	}
}

// needsVersion reports a feature that older Perfetto versions ignore. It reports each feature once, because a trace that uses
// such a feature does so thousands of times.
func (v *verifier) needsVersion(at position, what string) {
	if !slices.Contains(v.versions, what) {
		v.versions = append(v.versions, what)
		v.foundAt(ruleNeedsVersion, at, "%s", what)
	}
}

// readPackets checks all packets of the file.
func (v *verifier) readPackets(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := v.reader.Next()
		if err == nil {
			v.report.Packets = p.Index + 1
			v.at = position{p.Index, p.Offset}
			v.packet(&p)
			continue
		}
		var broken *pfwire.PacketError
		switch {
		case err == io.EOF:
			if at, truncated := v.reader.Truncated(); truncated {
				v.foundAt(rulePacketCut, position{v.report.Packets, at}, "the file ends after %d bytes of it", v.reader.Unread())
			}
			v.report.Bytes = v.reader.Offset() + int64(v.reader.Unread())
			return nil
		case errors.As(err, &broken):
			v.fields = message.TracePacket{}
			v.foundAt(ruleOf(broken), position{broken.Index, broken.Offset}, "%v", broken.Err)
		default:
			return err
		}
	}
}

// ruleOf returns the rule that an error from the packet reader violates.
func ruleOf(err *pfwire.PacketError) rule {
	switch {
	case errors.Is(err, pfwire.ErrPacketSize):
		return rulePacketSize
	case errors.Is(err, pfwire.ErrBundleSize):
		return ruleBundleSize
	case errors.Is(err, pfwire.ErrNestedBundle):
		return ruleBundleNested
	case errors.Is(err, pfwire.ErrBundle):
		return ruleBundleBroken
	}
	return ruleFraming
}

func (v *verifier) skippedField(field int, offset int64) {
	v.foundAt(ruleNotAPacket, position{-1, offset}, "field %d", field)
}

// maxBundle limits the size of a bundle in the file (perfetto.md 12).
const maxBundle = 512 << 10

// bundle checks a bundle as a whole before its packets are read.
func (v *verifier) bundle(b pfwire.Bundle, offset int64, extra int) {
	at := position{v.report.Packets, offset}
	v.report.Bundles = b.Number
	if b.Packed >= maxBundle {
		v.foundAt(ruleBundleSize, at, "%d bytes", b.Packed)
	}
	if extra > 0 {
		v.foundAt(ruleBundleBroken, at, "%d bytes follow the end of the stream", extra)
	}
	codec := b.Codec
	if codec == pfwire.Gzip {
		codec = pfwire.Zlib
	}
	if v.bundleCodec == pfwire.NoCodec {
		v.bundleCodec = codec
		if codec == pfwire.Zstd {
			v.needsVersion(at, "zstd bundles: v58")
		}
	}
	if codec != v.bundleCodec {
		v.foundAt(ruleBundleMixed, at, "%v after %v", codec, v.bundleCodec)
	}
}

// finish runs the checks that are possible only at the end.
func (v *verifier) finish() {
	v.fields = message.TracePacket{}
	for key, seq := range v.sequences {
		if missing := seq.folded.Pending(); missing > 0 {
			v.foundOn(ruleFoldedCalls, v.at, key, "missing calls: %d", missing)
		}
	}
	v.releaseOrdered(0)
	v.checkOpenSlices()
	v.checkTracks()
	v.reportUnknown()
}

// makeReport sorts the findings into violations and warnings.
func (v *verifier) makeReport() *VerifyReport {
	type result struct {
		rule    rule
		warning bool
	}
	merged := make(map[result]*tally)
	for key, t := range v.tallies {
		r := result{key.rule, v.isWarning(key)}
		m := merged[r]
		if m == nil {
			m = new(tally)
			merged[r] = m
		}
		m.count += t.count
		m.cases = append(m.cases, t.cases...)
	}
	rep := v.report
	rep.Findings = []VerifyFinding{}
	for _, warning := range []bool{false, true} {
		for r := range numRules {
			t := merged[result{r, warning}]
			if t == nil {
				continue
			}
			slices.SortFunc(t.cases, func(a, b VerifyCase) int {
				return cmp.Or(cmp.Compare(a.Packet, b.Packet), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Detail, b.Detail))
			})
			limit := v.opts.MaxCases
			if r == ruleUnknownField {
				limit = maxUnknownCases // here, a case is a kind of field
			}
			t.cases = t.cases[:min(len(t.cases), limit)]
			rep.Findings = append(rep.Findings, VerifyFinding{Rule: rules[r].name, Warning: warning,
				Sentence: rules[r].sentence, Section: rules[r].section, Count: t.count, Cases: t.cases})
			if warning {
				rep.Warnings += t.count
			} else {
				rep.Violations += t.count
			}
		}
	}
	return &rep
}

func (v *verifier) isWarning(key tallyKey) bool {
	switch rules[key.rule].class {
	case alwaysWarning:
		return true
	case ownViolation:
		return !v.opts.Strict && !v.ownAll && !v.own[key.seq]
	}
	return false
}
