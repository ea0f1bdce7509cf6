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

// detect finds the format of an unpacked input by its content (chrome-json.md 2). It reads as far as it has to,
// which may be far: the key that decides can come after megabytes of another member. in keeps everything for the
// reader that follows.
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

// Sniff returns the format of an unpacked input as far as its first bytes show it: FormatAuto for JSON of any kind, "" for what is
// in no format that weft knows.
func Sniff(head []byte) Format {
	switch text := startOfText(head); {
	case probes.Detect(head):
		return FormatProbes
	case otlp.Detect(head): // before Perfetto's, whose packets begin with the same byte
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

// startOfText returns what follows a byte order mark and white space.
func startOfText(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n")
}

// detectObject decides by the members of a JSON object. first begins with its brace and is the rest of what Peek gave.
func detectObject(in *replay, first []byte) (Format, error) {
	var scan memberScan
	for {
		if format := scan.feed(first); format != "" {
			return format, nil
		}
		if scan.ended() {
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
	return "", fmt.Errorf("%w: a JSON object %s; %w", ErrUnknownFormat, scan.seen(), hint)
}

// detectArray decides by the first element of a JSON array: a list of self-profiles has profiles, one of OpenTelemetry resources with
// spans, everything else is taken for a list of events, and the reader of these will know. first begins with the bracket.
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
		} else if format != "" || scan.ended() {
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

// member is a set of top-level members that tell formats apart.
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
	mPhase     // in an array, of an event
	mTimestamp // of an element of samples
	mStackID   // of an element of samples
	mFrameID   // of an element of stacks
	mLibs
	mShared
	mResourceSpans // of OpenTelemetry, or its logs, metrics and profiles
	mBatches
	mScopeSpans // of an element of batches
	mLog
	mEntries // of the log
	mTraceID // of an element of data, as in the JSON of Jaeger's user interface
)

func memberOf(key []byte) member {
	switch string(key) {
	case "traceEvents":
		return mTraceEvents
	case "meta":
		return mMeta
	case "threads":
		return mThreads
	case "nodes":
		return mNodes
	case "head":
		return mHead
	case "startTime":
		return mStartTime
	case "timeDeltas":
		return mTimeDeltas
	case "frames":
		return mFrames
	case "stacks":
		return mStacks
	case "resources":
		return mResources
	case "samples":
		return mSamples
	case "type":
		return mType
	case "data":
		return mData
	case "ph":
		return mPhase
	case "libs":
		return mLibs
	case "shared":
		return mShared
	case "resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics", "resourceProfiles",
		"resource_profiles":
		return mResourceSpans
	case "batches":
		return mBatches
	case "log":
		return mLog
	case "entries":
		return mEntries
	}
	return 0
}

// elementMemberOf is memberOf for the objects in the list that is the member list.
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

// formatOf returns the format that has these members, "" if that is not decided.
func (m member) formatOf() Format {
	has := func(all member) bool { return m&all == all }
	switch {
	case has(mTraceEvents):
		return FormatChromeJSON
	case has(mResourceSpans), has(mBatches | mScopeSpans):
		return FormatOTLP
	case has(mMeta | mThreads), has(mMeta | mLibs), has(mMeta | mShared):
		return FormatFirefox // the last two because threads can come after hundreds of megabytes of the others
	case has(mNodes | mStartTime), has(mNodes | mTimeDeltas), has(mHead | mStartTime):
		return FormatCPUProfile
	case has(mFrames | mStacks | mResources | mSamples), has(mFrames | mStacks | mSamples | mTimestamp | mFrameID):
		return FormatJSProfile // the second without resources, which other formats with such lists do not have either
	}
	return ""
}

const (
	maxKeyLength = 64 // longer keys decide nothing
	maxKeysShown = 8  // in the message for an unknown object
)

// A memberScan finds the names of the members of a JSON object while the object's text passes by in pieces of any
// size. It keeps nothing of the values and accepts any damage, as a reader that follows will. Names with escapes
// decide nothing.
//
// Objects in the members "profile" and "trace" are looked into: some tools wrap their profile that way. So is the log of an HTTP
// archive, and the result of a query to Jaeger.
type memberScan struct {
	depth   int    // 1: between the members of the object
	string  bool   // inside a string
	escape  bool   // after a backslash
	wantKey bool   // the next string is the name of a member
	wrapped bool   // the current value at depth 1 belongs to a wrapping member
	inner   bool   // the value at depth 2 is a wrapped object
	inArray bool   // the object is an element of an array
	element bool   // inside an object in a list of the object or wrapped object
	result  bool   // the wrapping member is the result of a query, which only spans are
	list    member // the current member of the object or wrapped object

	key     []byte // the name being read; of at most maxKeyLength bytes
	members member
	nested  member // members of the wrapped object
	keys    []string
	count   int
	closed  bool
	format  Format // "" until it is decided
}

// ended reports that the object is complete and undecided.
func (s *memberScan) ended() bool { return s.closed }

// feed looks at the next piece and returns the format as soon as it is decided.
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

// elementDepth is the depth inside an object in a list of the object, or of the wrapped object.
func (s *memberScan) elementDepth() int {
	if s.inner {
		return 4
	}
	return 3
}

// atKeys reports whether the current place is between the members of an object whose members matter.
func (s *memberScan) atKeys() bool {
	return s.depth == 1 || s.depth == 2 && s.inner || s.element && s.depth == s.elementDepth()
}

// feedString consumes the inside of a string and its closing quote.
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
	own := &s.members
	if s.inner {
		own = &s.nested
	}
	if s.depth > 2 {
		*own |= elementMemberOf(s.list, s.key)
		return
	}
	s.list = memberOf(s.key)
	if s.inner && s.result {
		s.list &= mResourceSpans
	}
	*own |= s.list
	if s.depth == 2 {
		return
	}
	s.result = string(s.key) == "result"
	s.wrapped = s.result || string(s.key) == "profile" || string(s.key) == "trace" || string(s.key) == "log"
	if s.count++; s.count <= maxKeysShown {
		s.keys = append(s.keys, string(s.key))
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
		// traceEvents inside another member are not where Chrome's format has them.
		s.format = (s.nested &^ mTraceEvents).formatOf()
	}
}

// guess returns what a truncated or incomplete object most likely is. Samples with a timestamp and a
// stackId belong to self-profiles, whatever other lists there are: other formats spell one of the two differently.
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

// seen describes the members for a message: `with the members "a", "b"`.
func (s *memberScan) seen() string {
	if s.count == 0 {
		return "without members"
	}
	var b strings.Builder
	b.WriteString("with the members ")
	for i, key := range s.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(key))
	}
	if s.count > len(s.keys) {
		fmt.Fprintf(&b, " and %d more", s.count-len(s.keys))
	}
	return b.String()
}
