package firefox

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// stacks converts the stacks in a set of tables to timeline call stacks, each at its first use.
type stacks struct {
	b       *timeline.Builder
	log     *problem.Log
	t       *tables
	libs    *loadedLibs
	sources *texts

	calls  []timeline.CallstackID         // by stack: call stack + 1, or 0 if unresolved
	leaves map[int32]timeline.CallstackID // see sampled
	frames []resolvedFrame                // by frame
	path   []int32                        // scratch
	walked int                            // number of callers visited, see reach

	// filledIn is the default category, which is the first grey one. Up to version 52, the front end filled in this category for
	// stacks without a category. If no frame has a category, filledIn is unset, and stacks keep their categories.
	filledIn int32
}

// resolvedFrame is a frame in the timeline.
type resolvedFrame struct {
	id    timeline.FrameID
	leaf  timeline.FrameID // the same frame as the innermost frame of a sample
	known bool
	isJS  bool
}

func (c *converter) newStacks(t *tables, p *profile, libs *loadedLibs) *stacks {
	s := &stacks{b: c.b, log: c.log, t: t, libs: libs, sources: &p.sources.name, filledIn: none}
	if slices.ContainsFunc(t.frames.category, func(category int32) bool { return category >= 0 }) {
		s.filledIn = int32(slices.IndexFunc(c.root.meta.categories, func(c category) bool { return c.color == defaultColor }))
	}
	return s
}

// defaultColor is the color of the default category.
const defaultColor = "grey"

// loadedLibs holds the libraries of a process, which its threads share.
type loadedLibs struct {
	list    []lib
	byStart []int // indexes of the libraries with addresses, sorted by address
	sorted  bool
}

// parent returns the stack of the caller, or none for a root. A caller must come earlier in the table, which rules out cycles. An
// invalid caller is counted and ignored.
func (s *stacks) parent(stack int32) int32 {
	parent := s.t.stacks.parent(stack)
	if parent >= stack || parent < none {
		s.log.Add(problem.FirefoxIndexInvalid, problem.NoPosition, "the prefix of a stack")
		return none
	}
	return parent
}

// valid reports whether a stack exists; null is not a stack. It counts a problem if the index is too large.
func (s *stacks) valid(stack int32) bool {
	if stack >= int32(s.t.stacks.rows) {
		s.log.Add(problem.FirefoxIndexInvalid, problem.NoPosition, "a stack")
		return false
	}
	return stack >= 0
}

// callstack returns the call stack in the timeline, or 0.
func (s *stacks) callstack(stack int32) timeline.CallstackID {
	if !s.valid(stack) {
		return 0
	}
	if s.calls == nil {
		s.calls = make([]timeline.CallstackID, s.t.stacks.rows)
	}
	path := s.path[:0]
	var id timeline.CallstackID
	for at := stack; at != none; at = s.parent(at) {
		if s.calls[at] != 0 {
			id = s.calls[at] - 1
			break
		}
		path = append(path, at)
	}
	for _, at := range slices.Backward(path) {
		if frame := s.frame(s.t.stacks.frame.at(int(at))); frame != nil {
			id = s.push(id, frame.id)
		}
		s.calls[at] = id + 1
	}
	s.path = path
	return id
}

// sampled returns the call stack of a sample. The address in its innermost frame is the current instruction; all other
// addresses, including those in stacks of markers, are return addresses after the call (section 2).
func (s *stacks) sampled(stack int32) timeline.CallstackID {
	if !s.valid(stack) {
		return 0
	}
	frame := s.frame(s.t.stacks.frame.at(int(stack)))
	if frame == nil || frame.leaf == frame.id {
		return s.callstack(stack)
	}
	id, ok := s.leaves[stack]
	if !ok {
		if parent := s.parent(stack); parent != none {
			id = s.callstack(parent)
		}
		id = s.push(id, frame.leaf)
		if s.leaves == nil {
			s.leaves = map[int32]timeline.CallstackID{}
		}
		s.leaves[stack] = id
	}
	return id
}

func (s *stacks) push(parent timeline.CallstackID, f timeline.FrameID) timeline.CallstackID {
	if s.t.stacks.rows > maxIndexedStacks {
		return s.b.AppendFrame(parent, f)
	}
	return s.b.PushFrame(parent, f)
}

// maxIndexedStacks is the maximum number of rows of a table whose stacks are deduplicated, within and across tables:
// rows that become equal stacks in the timeline then share an id.
const maxIndexedStacks = 1 << 20

// frame resolves a frame. It returns nil if the index is invalid.
func (s *stacks) frame(i int32) *resolvedFrame {
	if s.frames == nil {
		s.frames = make([]resolvedFrame, s.t.frames.rows)
	}
	if i < 0 || int(i) >= len(s.frames) {
		s.log.Add(problem.FirefoxIndexInvalid, problem.NoPosition, "a frame")
		return nil
	}
	f := &s.frames[i]
	if !f.known {
		frame, isJS := s.makeFrame(int(i))
		*f = resolvedFrame{known: true, isJS: isJS}
		if frame != (timeline.Frame{}) {
			f.leaf = s.b.Frame(frame)
			f.id = f.leaf
			if frame.Mapping != 0 && len(s.t.frames.fn) == 0 && frame.Address > 0 {
				frame.Address-- // from the return address into the call
				f.id = s.b.Frame(frame)
			}
		}
	}
	return f
}

// makeFrame returns a frame for the timeline: a function and the current position in it, or its start.
func (s *stacks) makeFrame(i int) (f timeline.Frame, isJS bool) {
	t := &s.t.frames
	f, isJS = s.described(i)
	if f == (timeline.Frame{}) {
		return f, false
	}
	if hasFlag(t.flags, i, flagFrameLine) && t.line.at(i) > 0 {
		f.Line, f.Column = int64(t.line.at(i)), 0
		if hasFlag(t.flags, i, flagFrameColumn) {
			f.Column = int64(max(t.column.at(i), 0))
		}
	}
	return f, isJS
}

// described returns a timeline frame that contains only the function.
func (s *stacks) described(i int) (f timeline.Frame, isJS bool) {
	if len(s.t.frames.fn) == 0 {
		return s.located(i)
	}
	return s.functionFrame(i)
}

// hasFlag reports whether the value that a flag belongs to is valid in row i. Without flags, all values are valid.
func hasFlag(flags ints, i int, flag int32) bool {
	return len(flags) == 0 || flags.at(i)&flag != 0 && flags.at(i) != none
}

// located returns the function of a frame in the raw form, from its location.
func (s *stacks) located(i int) (f timeline.Frame, isJS bool) {
	text, ok := s.t.strings.at(s.t.frames.location.at(i))
	if !ok {
		s.log.Add(problem.FirefoxIndexInvalid, problem.NoPosition, "the location of a frame")
		return f, false
	}
	loc := parseLocation(text)
	f = timeline.Frame{Function: string(loc.function), File: string(loc.file), Line: loc.line, Column: loc.column}
	if loc.isAddress {
		if l := s.libs.at(loc.address); l != nil {
			f.File, f.Mapping, f.Address = l.file(), s.mapping(l), loc.address-l.start+l.offset
		}
	}
	return f, loc.isJS
}

// at returns the library loaded at an address, or nil.
func (l *loadedLibs) at(address uint64) *lib {
	if !l.sorted {
		l.sort()
	}
	n, _ := slices.BinarySearchFunc(l.byStart, address, func(i int, address uint64) int {
		if l.list[i].start <= address {
			return -1
		}
		return 1
	})
	if n == 0 {
		return nil
	}
	if lib := &l.list[l.byStart[n-1]]; address < lib.end {
		return lib
	}
	return nil
}

// sort fills byStart.
func (l *loadedLibs) sort() {
	l.sorted = true
	for i := range l.list {
		if l.list[i].end > l.list[i].start {
			l.byStart = append(l.byStart, i)
		}
	}
	slices.SortFunc(l.byStart, func(i, j int) int { return cmp.Compare(l.list[i].start, l.list[j].start) })
}

// mapping returns the timeline mapping of a library.
func (s *stacks) mapping(l *lib) timeline.MappingID {
	return s.b.Mapping(timeline.Mapping{Path: l.file(), BuildID: cmp.Or(l.codeID, l.breakpadID)})
}

// file returns the file name of a library, for frames.
func (l *lib) file() string { return cmp.Or(l.path, l.debugPath, l.name) }

// functionFrame returns the function of a frame in the processed form.
func (s *stacks) functionFrame(i int) (f timeline.Frame, isJS bool) {
	t := &s.t.funcs
	fn := int(s.t.frames.fn.at(i))
	if fn < 0 || fn >= t.rows {
		s.log.Add(problem.FirefoxIndexInvalid, problem.NoPosition, "the function of a frame")
		return f, false
	}
	name, ok := s.t.strings.at(t.name[fn])
	if !ok && t.name[fn] != none {
		s.log.Add(problem.FirefoxIndexInvalid, problem.NoPosition, "the name of a function")
	}
	f.Function = string(name)
	isJS = t.isJS.at(fn) == 1 || len(t.flags) > 0 && hasFlag(t.flags, fn, flagFuncIsJS)
	if hasFlag(t.flags, fn, flagFuncLine) {
		f.Line = int64(max(t.line.at(fn), 0))
	}
	if hasFlag(t.flags, fn, flagFuncColumn) {
		f.Column = int64(max(t.column.at(fn), 0))
	}
	f.File = s.fileOf(i, fn)
	if l := s.libOf(i, fn); l != nil && s.t.frames.address.at(i) >= 0 && hasFlag(s.t.frames.flags, i, flagFrameAddress) {
		f.Mapping, f.Address = s.mapping(l), uint64(s.t.frames.address.at(i))
	}
	if f.File == "" && f.Line == 0 {
		// Where the front end could not parse a location, it used the location as the name of the function.
		if loc := parseLocation([]byte(f.Function)); loc.isJS {
			return timeline.Frame{Function: string(loc.function), File: string(loc.file), Line: loc.line, Column: loc.column}, true
		}
	}
	return f, isJS
}

// fileOf returns the source file of a function, or the library of the frame.
func (s *stacks) fileOf(frame, fn int) string {
	t := &s.t.funcs
	if source := t.source.at(fn); source >= 0 && hasFlag(t.flags, fn, flagFuncSource) {
		if len(s.t.sources.filename) > 0 {
			return s.t.strings.text(s.t.sources.filename.at(int(source)))
		}
	}
	if name := t.fileName.at(fn); name >= 0 {
		return s.t.strings.text(name)
	}
	if l := s.libOf(frame, fn); l != nil {
		return l.file()
	}
	if resource := int(t.resource.at(fn)); s.t.resources.kind.at(resource) == libraryResource && hasFlag(t.flags, fn, flagFuncResource) {
		return s.t.strings.text(s.t.resources.name.at(resource))
	}
	return ""
}

// libOf returns the library of a frame or, if the frame lacks one, the library of its function's resource. It returns nil if both
// lack a library.
func (s *stacks) libOf(frame, fn int) *lib {
	library := s.t.frames.lib.at(frame)
	if library < 0 && hasFlag(s.t.funcs.flags, fn, flagFuncResource) {
		library = s.t.resources.lib.at(int(s.t.funcs.resource.at(fn)))
	}
	if library < 0 || int(library) >= len(s.libs.list) {
		return nil
	}
	return &s.libs.list[library]
}

// libraryResource is the type of resources that are libraries (section 3).
const libraryResource = 1

const (
	// maxReach limits how many callers are searched for a value that a stack lacks. After maxWalked callers in total,
	// the limit is shortReach, so that deep stacks in a small input cannot take hours.
	maxReach   = timeline.MaxStackDepth
	shortReach = 64
	maxWalked  = 1 << 27
)

// reach returns how many callers the next search may visit.
func (s *stacks) reach() int {
	if s.walked > maxWalked {
		return shortReach
	}
	return maxReach
}

// category returns the category and subcategory of a stack: its own, its frame's, or the nearest caller's. If all of these are
// unset, it returns none (3.3). The default counts as a stack's own only if the frame has a category: up to version 52, the front
// end filled in the default where neither frames nor callers have a category, and dropped it again when it upgraded a profile.
func (s *stacks) category(stack int32) (category, subcategory int32) {
	if !s.valid(stack) {
		return none, none
	}
	for range s.reach() {
		s.walked++
		frame := int(s.t.stacks.frame.at(int(stack)))
		frameCategory := s.t.frames.category.at(frame)
		if category := s.t.stacks.category.at(int(stack)); category >= 0 && (category != s.filledIn || frameCategory >= 0) {
			return category, s.t.stacks.subcategory.at(int(stack))
		}
		if frameCategory >= 0 && hasFlag(s.t.frames.flags, frame, flagFrameCategory) {
			return frameCategory, s.t.frames.subcategory.at(frame)
		}
		if stack = s.parent(stack); stack == none {
			break
		}
	}
	return none, none
}

// window returns the window of a stack's innermost frame with a window, or 0 (section 10).
func (s *stacks) window(stack int32) int64 {
	if len(s.t.frames.window) == 0 || !s.valid(stack) {
		return 0
	}
	for range s.reach() {
		s.walked++
		if w := s.t.frames.window.at(int(s.t.stacks.frame.at(int(stack)))); w > 0 {
			return w
		}
		if stack = s.parent(stack); stack == none {
			break
		}
	}
	return 0
}
