package cpuprofile

import (
	"github.com/weft-trace/weft/profilecalls"
	"github.com/weft-trace/weft/timeline"
	"github.com/weft-trace/weft/v8profile"
)

const (
	// Category is the category of calls.
	Category = "v8.cpu_profiler"
	// anonymous is the name of functions that have none.
	anonymous = "(anonymous)"
)

// Calls adds calls to a timeline as slices of their thread (spec profile-calls.md 8).
type Calls struct {
	*Thread
	to       Target
	out      timeline.Event
	places   [][]byte // of each function: its encoded url, line and column; nil: not encoded yet
	names    [][]byte // of each function
	category []byte
	told     []bool // of each node: its line ticks were given
}

// NewCalls returns Calls that adds to a target.
func NewCalls(t *Thread, to Target) *Calls {
	c := &Calls{
		Thread: t, to: to, category: []byte(Category),
		places: make([][]byte, t.Profile.FunctionCount()), names: make([][]byte, t.Profile.FunctionCount()),
		told: make([]bool, t.Profile.NodeCount()),
	}
	if t.Category != "" {
		c.category = []byte(t.Category)
	}
	return c
}

// Add adds a call. Calls must come in the order of their creation (profilecalls.Call.Order): of calls at one time the
// first is the outermost.
func (c *Calls) Add(call *profilecalls.Call) error {
	ts, ok := c.time(call.TS)
	if !ok {
		return nil
	}
	f := c.Profile.Node(call.Node).Function
	if c.places[f] == nil {
		c.encodePlace(f)
	}
	c.out = timeline.Event{
		Kind: timeline.Slice, Track: c.Track, TS: ts, Dur: call.Dur,
		Name: c.names[f], Category: c.category, Args: c.args(call, c.places[f]),
	}
	return c.add(c.to, &c.out)
}

// encodePlace encodes what the calls of a function have in common: where it is defined, with lines and columns that count
// from 1.
func (c *Calls) encodePlace(f v8profile.FunctionIndex) {
	fn := c.Profile.Function(f)
	args := c.to.Args()
	args.Reset()
	keep := func(name string) bool { return c.KeepArg == nil || c.KeepArg([]byte(name)) }
	if fn.URL != "" && keep("url") {
		args.Key([]byte("url"))
		args.String([]byte(fn.URL))
	}
	if fn.Line >= 0 && keep("line") {
		args.Key([]byte("line"))
		args.Int(int64(fn.Line) + 1)
	}
	if fn.Column >= 0 && keep("column") {
		args.Key([]byte("column"))
		args.Int(int64(fn.Column) + 1)
	}
	c.places[f] = append([]byte{}, args.Args()...)
	c.names[f] = []byte(functionName(fn))
}

func functionName(f *v8profile.Function) string {
	if f.Name == "" {
		return anonymous
	}
	return f.Name
}

// args encodes the arguments of a call: the place of its function, and what weft knows beside.
func (c *Calls) args(call *profilecalls.Call, place []byte) timeline.Args {
	p := c.Profile
	node, fn := p.Node(call.Node), p.FunctionOf(call.Node)
	args := c.to.Args()
	args.Load(place)
	args.Key([]byte("weft"))
	args.BeginDict()
	number := func(key string, v int64) {
		args.Key([]byte(key))
		args.Int(v)
	}
	text := func(key, v string) {
		if v != "" {
			args.Key([]byte(key))
			args.String([]byte(v))
		}
	}
	text("profileId", c.ID)
	number("nodeId", node.ID)
	sample := int64(-1)
	if call.Sample >= 0 {
		sample = int64(p.Index(call.Sample))
	}
	number("sampleIndex", sample)
	number("samples", call.Samples)
	text("scriptId", fn.ScriptID)
	text("codeType", fn.CodeType)
	text("deoptReason", p.DeoptReason(call.Node))
	if ticks := p.LineTicks(call.Node); len(ticks) > 0 && !c.told[call.Node] {
		c.told[call.Node] = true
		args.Key([]byte("lineTicks"))
		args.BeginArray()
		for _, t := range ticks {
			args.BeginDict()
			number("line", int64(t.Line))
			number("ticks", t.Ticks)
			args.EndDict()
		}
		args.EndArray()
	}
	args.EndDict()
	return args.Args()
}
