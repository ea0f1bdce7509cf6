package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/readers/otlp"
	"github.com/weft-trace/weft/internal/readers/probes"
)

// detect determines the format of an unpacked input from its content (chrome-json.md 2). It may read far ahead: the deciding key
// can follow megabytes of another member. The replay keeps all data that was read, for the reader.
func detect(in *replay) (Format, error) {
	head, err := in.Peek()
	if err == io.EOF {
		return "", fmt.Errorf("%w: the input is empty", ErrUnknownFormat)
	}
	if err != nil {
		return "", err
	}
	first := startOfText(head)
	switch format := Sniff(head); {
	case eventstream.Detect(head):
		return "", fmt.Errorf("%w: this is a stream of resolved events, which weft export writes; use the trace that it was made from", ErrUnknownFormat)
	case format == FormatAuto && first[0] == '[':
		return detectArray(in, first)
	case format == FormatAuto:
		return detectObject(in, first)
	case format != "":
		return format, nil
	case len(first) == 0:
		return "", fmt.Errorf("%w: the input begins with nothing but white space", ErrUnknownFormat)
	}
	return "", notATrace(head)
}

// Sniff returns the format indicated by the first bytes of an unpacked input: FormatAuto for any JSON, "" for an unknown format.
func Sniff(head []byte) Format {
	switch text := startOfText(head); {
	case probes.Detect(head):
		return FormatProbes
	case otlp.Detect(head): // checked before Perfetto, whose packets begin with the same byte
		return FormatOTLP
	case pfwire.LooksLikeTrace(head):
		return FormatPerfetto
	case len(text) > 0 && (text[0] == '[' || text[0] == '{'):
		return FormatAuto
	case bytes.HasPrefix(head, []byte("\xDC\xDF\x4AS\x4CB\x01\x00")): // JSLB, firefox.md 3
		return FormatFirefox
	}
	return ""
}

// startOfText returns head without a byte order mark and leading white space.
func startOfText(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n")
}

// detectObject decides by the members of a JSON object. The parameter first is the rest of Peek's result, from the opening brace
// on.
func detectObject(in *replay, first []byte) (Format, error) {
	var scan memberScan
	for {
		if format := scan.feed(first); format != "" {
			return format, nil
		}
		if scan.closed {
			break
		}
		more, err := in.Peek()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		first = more
	}
	if format := scan.guess(); format != "" {
		return format, nil
	}
	hint := errors.New("a Chrome trace has traceEvents; name another format with --format")
	switch {
	case scan.members == mType|mData:
		hint = errors.New("if this is output of bpftrace, its script has to print probe lines, see docs/formats/probes.md")
	case scan.members&mTraceID != 0:
		hint = errors.New("if this is Jaeger's own JSON, save the trace as OTLP instead: /api/v3/traces/TRACE-ID of its server")
	case scan.members&mTimestamp != 0:
		hint = jsprofile.ErrListsMissing
	}
	return "", fmt.Errorf("%w: a JSON object %s; %w", ErrUnknownFormat, scan.describeMembers(), hint)
}

// detectArray decides by the first element of a JSON array, which can be a JS self-profile or have OpenTelemetry spans. Any other
// array is read as a list of events, whose reader reports errors. The parameter first is the rest of Peek's result, from the
// opening bracket on.
func detectArray(in *replay, first []byte) (Format, error) {
	first = first[1:]
	scan := memberScan{inArray: true}
	for {
		if scan.depth == 0 {
			first = bytes.TrimLeft(first, " \t\r\n")
			if len(first) > 0 && first[0] != '{' {
				return FormatChromeJSON, nil
			}
		}
		if format := scan.feed(first); format == FormatJSProfile || format == FormatOTLP {
			return format, nil
		} else if format != "" || scan.closed {
			break
		}
		more, err := in.Peek()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		first = more
	}
	if scan.guess() == FormatJSProfile {
		return FormatJSProfile, nil
	}
	return FormatChromeJSON, nil
}

// member is a set of members that distinguish the formats.
type member uint32

const (
	mTraceEvents member = 1 << iota
	mMeta
	mThreads
	mNodes
	mHead
	mStartTime
	mTimeDeltas
	mFrames
	mStacks
	mResources
	mSamples
	mType
	mData
	mPhase     // of an event in an array
	mTimestamp // of an element of samples
	mStackID   // of an element of samples
	mFrameID   // of an element of stacks
	mLibs
	mShared
	mResourceSpans // OpenTelemetry spans, or its logs, metrics or profiles
	mBatches
	mScopeSpans // of an element of batches
	mLog
	mEntries // of the log
	mTraceID // of an element of data, as in the JSON of Jaeger's user interface
)

var memberNames = map[string]member{
	"traceEvents":       mTraceEvents,
	"meta":              mMeta,
	"threads":           mThreads,
	"nodes":             mNodes,
	"head":              mHead,
	"startTime":         mStartTime,
	"timeDeltas":        mTimeDeltas,
	"frames":            mFrames,
	"stacks":            mStacks,
	"resources":         mResources,
	"samples":           mSamples,
	"type":              mType,
	"data":              mData,
	"ph":                mPhase,
	"libs":              mLibs,
	"shared":            mShared,
	"resourceSpans":     mResourceSpans,
	"resource_spans":    mResourceSpans,
	"resourceLogs":      mResourceSpans,
	"resource_logs":     mResourceSpans,
	"resourceMetrics":   mResourceSpans,
	"resource_metrics":  mResourceSpans,
	"resourceProfiles":  mResourceSpans,
	"resource_profiles": mResourceSpans,
	"batches":           mBatches,
	"log":               mLog,
	"entries":           mEntries,
}

// elementMemberOf returns the member bit for a key of an object in the given list.
func elementMemberOf(list member, key []byte) member {
	switch {
	case list == mSamples && string(key) == "timestamp":
		return mTimestamp
	case list == mSamples && string(key) == "stackId":
		return mStackID
	case list == mStacks && string(key) == "frameId":
		return mFrameID
	case list == mBatches && (string(key) == "scopeSpans" || string(key) == "instrumentationLibrarySpans"):
		return mScopeSpans
	case list == mData && string(key) == "traceID":
		return mTraceID
	}
	return 0
}

// formatOf returns the format of an object with these members, or "" if the members do not decide.
func (m member) formatOf() Format {
	has := func(all member) bool { return m&all == all }
	switch {
	case has(mTraceEvents):
		return FormatChromeJSON
	case has(mResourceSpans), has(mBatches | mScopeSpans):
		return FormatOTLP
	case has(mMeta | mThreads), has(mMeta | mLibs), has(mMeta | mShared):
		return FormatFirefox // libs or shared suffice, because threads can come hundreds of megabytes later
	case has(mNodes | mStartTime), has(mNodes | mTimeDeltas), has(mHead | mStartTime):
		return FormatCPUProfile
	case has(mFrames | mStacks | mResources | mSamples), has(mFrames | mStacks | mSamples | mTimestamp | mFrameID):
		return FormatJSProfile // other formats also have such lists without resources, so the second case requires two more keys
	}
	return ""
}

const (
	maxKeyLength = 64 // longer keys are not decisive
	maxKeysShown = 8  // in the message for an unknown object
)

// A memberScan finds the member names of a JSON object that arrives in pieces of any size. It stores no values and, like the
// readers, tolerates damage. Names with escapes are not decisive.
//
// It also scans objects in the members "profile", "trace", "log" and "result": some tools wrap profiles in the first two, HTTP
// archives have a log, and Jaeger queries return a result.
type memberScan struct {
	depth   int    // 1: between the members of the object
	string  bool   // inside a string
	escape  bool   // after a backslash
	wantKey bool   // the next string is a member name
	wrapped bool   // the current member at depth 1 wraps an object
	inner   bool   // the value at depth 2 is a wrapped object
	inArray bool   // the object is an element of an array
	element bool   // inside an object in a list in the object or wrapped object
	result  bool   // the wrapping member is the result of a query, which can only be spans
	list    member // the current member in the object or wrapped object

	key     []byte // the first maxKeyLength bytes of the name being read
	members member
	nested  member   // members of the wrapped object
	keys    []string // quoted names, at most maxKeysShown
	count   int
	closed  bool
	format  Format // "" until decided
}

// feed scans the next piece and returns the format once it is decided.
func (s *memberScan) feed(p []byte) Format {
	for len(p) > 0 && !s.closed && s.format == "" {
		if s.string {
			p = s.feedString(p)
			continue
		}
		c := p[0]
		p = p[1:]
		switch c {
		case '"':
			s.string, s.key = true, s.key[:0]
		case '{', '[':
			s.depth++
			s.inner = s.inner || s.depth == 2 && s.wrapped && c == '{'
			s.element = s.element || s.depth == s.elementDepth() && c == '{'
			s.wantKey = s.atKeys()
		case '}', ']':
			s.depth--
			s.inner = s.inner && s.depth >= 2
			s.element = s.element && s.depth >= s.elementDepth()
			s.wantKey = false
			if s.closed = s.depth <= 0; s.closed {
				s.decide()
			}
		case ',':
			s.wantKey = s.atKeys()
		}
	}
	return s.format
}

// elementDepth returns the nesting depth inside an object in a list of the object or wrapped object.
func (s *memberScan) elementDepth() int {
	if s.inner {
		return 4
	}
	return 3
}

// atKeys reports whether the scan is between the members of a relevant object.
func (s *memberScan) atKeys() bool {
	return s.depth == 1 || s.depth == 2 && s.inner || s.element && s.depth == s.elementDepth()
}

// feedString consumes the rest of a string and its closing quote.
func (s *memberScan) feedString(p []byte) []byte {
	if s.escape {
		s.escape = false
		return p[1:]
	}
	end := bytes.IndexAny(p, `"\`)
	if end < 0 {
		end = len(p)
	}
	if s.wantKey {
		s.key = append(s.key, p[:min(end, maxKeyLength-len(s.key))]...)
	}
	if end == len(p) {
		return nil
	}
	if p[end] == '\\' {
		s.escape = true
		return p[end+1:]
	}
	s.string = false
	if s.wantKey {
		s.wantKey = false
		s.addKey()
		s.decide()
	}
	return p[end+1:]
}

func (s *memberScan) addKey() {
	set := &s.members
	if s.inner {
		set = &s.nested
	}
	if s.depth > 2 {
		*set |= elementMemberOf(s.list, s.key)
		return
	}
	s.list = memberNames[string(s.key)]
	if s.inner && s.result {
		s.list &= mResourceSpans
	}
	*set |= s.list
	if s.depth == 2 {
		return
	}
	s.result = string(s.key) == "result"
	s.wrapped = s.result || string(s.key) == "profile" || string(s.key) == "trace" || string(s.key) == "log"
	if s.count++; s.count <= maxKeysShown {
		s.keys = append(s.keys, strconv.Quote(string(s.key)))
	}
}

func (s *memberScan) decide() {
	s.format = s.members.formatOf()
	if s.inArray && s.members&mPhase != 0 {
		s.format = FormatChromeJSON
	}
	if s.members&mLog != 0 && s.nested&mEntries != 0 {
		s.format = FormatHAR
	}
	if s.format == "" {
		// The Chrome format has traceEvents only at the top level.
		s.format = (s.nested &^ mTraceEvents).formatOf()
	}
}

// guess returns the most likely format of a truncated or incomplete object. Samples with a timestamp and a stackId belong to
// self-profiles, whatever other lists the object has: other formats spell one of the two keys differently.
func (s *memberScan) guess() Format {
	all := s.members | s.nested
	switch {
	case all&mTimestamp != 0 && all&mStackID != 0:
		return FormatJSProfile
	case all&mTimestamp != 0 && (all&mFrameID != 0 || !s.closed && all&(mFrames|mResources) != 0):
		return FormatJSProfile
	case s.closed:
	case s.members&mNodes != 0:
		return FormatCPUProfile
	case s.members&mFrames != 0 && s.members&(mStacks|mResources) != 0:
		return FormatJSProfile
	}
	return ""
}

// describeMembers describes the members for a message: `with the members "a", "b"`.
func (s *memberScan) describeMembers() string {
	if s.count == 0 {
		return "without members"
	}
	text := "with the members " + strings.Join(s.keys, ", ")
	if s.count > len(s.keys) {
		text += fmt.Sprintf(" and %d more", s.count-len(s.keys))
	}
	return text
}
