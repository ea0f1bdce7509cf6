package cpuprofile

import (
	"github.com/weft-trace/weft/internal/profilecalls"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// anonymous is shown as the name of functions without a name.
const anonymous = "(anonymous)"

// Calls adds calls to a timeline as slices of their thread (profile-calls.md 8).
type Calls struct {
	*Thread
	// Added is the number of calls added; calls before time 0 are dropped.
	Added int64

	to       *timeline.Builder
	samples  *v8profile.Samples
	out      timeline.Event
	slice    timeline.Event // a slice from a template
	names    [][]byte       // by function
	nodes    []nodeCalls    // by node
	category []byte
	first    uint32            // event index of the first call
	step     uint32            // distance between the event indexes of successive calls
	inOrder  bool              // the track contains only calls
	keys     [2]timeline.KeyID // ids of numberNames
}

// nodeCalls caches the parts that all calls of a node share: most nodes have many calls, which differ only in their
// times and two numbers.
type nodeCalls struct {
	template timeline.TemplateID // 0: none yet
	any      bool
}

// NewCalls returns a Calls that adds the calls of t to a Builder.
func NewCalls(t *Thread, to *timeline.Builder) *Calls {
	c := &Calls{
		Thread: t, to: to, samples: t.Profile.Samples(), category: []byte(timeline.CallCategory), first: t.Event, step: 1,
		names: make([][]byte, t.Profile.FunctionCount()), nodes: make([]nodeCalls, t.Profile.NodeCount()),
	}
	if t.Category != "" {
		c.category = []byte(t.Category)
	}
	if t.CallDetails {
		c.keys[0] = c.keyID(numberNames[0])
	}
	c.keys[1] = c.keyID(numberNames[1])
	return c
}

// NumberAmong assigns every n-th event index to the calls of thread i of n threads, from first+i on. The calls of all threads are
// made together, and their number is not known in advance. This numbering keeps their indexes distinct.
func (c *Calls) NumberAmong(first uint32, i, n int) { c.first, c.step = first+uint32(i), uint32(n) }

// keyID returns the id of an argument's name.
func (c *Calls) keyID(name string) timeline.KeyID {
	args := c.to.Args()
	args.Reset()
	args.Key([]byte(name))
	return args.KeyID()
}

// index returns the number of a call's first sample in the input, or -1.
func (c *Calls) index(call *profilecalls.Call) int64 {
	if call.Sample < 0 {
		return -1
	}
	return int64(c.samples.Index(call.Sample))
}

// Add adds a call. A Builder needs calls in order of their creation (profilecalls.Call.Order), so that the outermost of
// simultaneous calls comes first. The Builder of Timeline.Extend accepts any order.
func (c *Calls) Add(call *profilecalls.Call) error {
	clamped, ok := c.span(call.TS, call.Dur)
	if !ok {
		return nil
	}
	c.Added++
	c.Event = c.first + uint32(call.Order)*c.step
	node := &c.nodes[call.Node]
	first := !node.any
	if first || node.template == 0 {
		c.beginArgs(call.Node)
		node.any = true
		if !first && (c.keys[0] != 0 || !c.CallDetails) {
			node.template = c.to.Template(c.name(call.Node), c.category, c.keys)
		}
	}
	sample := c.index(call)
	if node.template != 0 && len(call.Positions) == 0 && clamped.start == 0 {
		s := &c.slice
		s.Kind, s.Track, s.Event, s.Offset, s.TS, s.Dur = timeline.Slice, c.Track, c.Event, noOffset, clamped.ts, clamped.length
		s.InOrder = c.inOrder
		s.Template, s.Numbers = node.template, [2]int64{sample, call.Samples}
		c.Event++
		return c.to.Add(s)
	}
	if node.template != 0 {
		c.to.BeginArgs(node.template)
	}
	c.endArgs(call, sample, first, &clamped)
	c.out = timeline.Event{
		Kind: timeline.Slice, Track: c.Track, TS: clamped.ts, Dur: clamped.length,
		Name: c.name(call.Node), Category: c.category, Args: c.to.Args().Args(), InOrder: c.inOrder,
	}
	return c.add(c.to, &c.out)
}

// name returns the name of a node's calls.
func (c *Calls) name(n v8profile.NodeIndex) []byte {
	f := c.Profile.Node(n).Function
	if c.names[f] == nil {
		c.names[f] = []byte(functionName(c.Profile.Function(f)))
	}
	return c.names[f]
}

func functionName(f *v8profile.Function) string {
	if f.Name == "" {
		return anonymous
	}
	return f.Name
}

// beginArgs encodes the arguments that all calls of a node share: the definition of the function, with 1-based line and column,
// and weft's additions. It leaves the dictionary of the additions open.
func (c *Calls) beginArgs(n v8profile.NodeIndex) {
	fn := c.Profile.FunctionOf(n)
	args := c.to.Args()
	args.Reset()
	keeps := func(name string) bool { return c.Args.KeepsText(name) }
	text := func(key, v string) {
		if v != "" {
			args.Key([]byte(key))
			args.InternedString(v)
		}
	}
	number := func(key string, v int64) {
		args.Key([]byte(key))
		args.Int(v)
	}
	args.CorrelateFunction(fn.Name, fn.URL, int64(fn.Line)+1, int64(fn.Column)+1)
	if keeps("url") {
		text("url", fn.URL)
	}
	if fn.Line >= 0 && keeps("line") {
		number("line", int64(fn.Line)+1)
	}
	if fn.Column >= 0 && keeps("column") {
		number("column", int64(fn.Column)+1)
	}
	args.OwnKey([]byte(timeline.OwnArgs))
	args.BeginDict()
	if c.CallDetails {
		text("profileId", c.ID)
		number("nodeId", c.Profile.Node(n).ID)
		text("scriptId", fn.ScriptID)
		text("codeType", fn.CodeType)
	}
	text("deoptReason", c.Profile.DeoptReason(n))
}

// endArgs completes the arguments of a call. With CallDetails, the first call of a node includes the lines of all samples of the
// node.
func (c *Calls) endArgs(call *profilecalls.Call, sample int64, first bool, clamped *span) {
	if c.CallDetails {
		c.number(0, sample)
	}
	c.number(1, call.Samples)
	if first && c.CallDetails {
		c.lineTicks(call.Node)
	}
	if len(call.Positions) > 0 {
		c.positions(call)
	}
	clamped.realStart(c.to.Args())
	c.to.Args().EndDict()
}

// numberNames are the arguments in which the calls of a node differ.
var numberNames = [2]string{"sampleIndex", "samples"}

// number adds one of the numbers to the open dictionary. The id of its key is 0 if the table of names is full.
func (c *Calls) number(i int, v int64) {
	args := c.to.Args()
	if c.keys[i] != 0 {
		args.KeyWithID(c.keys[i])
	} else {
		args.Key([]byte(numberNames[i]))
	}
	args.Int(v)
}

// lineTicks adds the number of samples on each line of a node's function.
func (c *Calls) lineTicks(n v8profile.NodeIndex) {
	args := c.to.Args()
	args.Key([]byte("lineTicks"))
	args.BeginArray()
	for _, t := range c.Profile.LineTicks(n) {
		args.BeginDict()
		args.Key([]byte("line"))
		args.Int(int64(t.Line))
		args.Key([]byte("ticks"))
		args.Int(t.Ticks)
		args.EndDict()
	}
	args.EndArray()
}

// positions adds the lines and columns of a call's samples.
func (c *Calls) positions(call *profilecalls.Call) {
	args := c.to.Args()
	args.Key([]byte("positions"))
	args.BeginArray()
	for _, p := range call.Positions {
		args.BeginDict()
		if p.Line != 0 {
			args.Key([]byte("line"))
			args.Int(int64(p.Line))
		}
		if p.Column != 0 {
			args.Key([]byte("column"))
			args.Int(int64(p.Column))
		}
		c.number(1, p.Samples)
		args.EndDict()
	}
	args.EndArray()
}
