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
	// Added is the number of calls that were added: those before time 0 are not.
	Added int64

	to       Target
	out      timeline.Event
	places   [][]byte // of each function: its encoded url, line and column; nil: not encoded yet
	names    [][]byte // of each function
	members  [][]byte // of each node: what all its calls say in weft; nil: not encoded yet
	category []byte
	first    uint32 // event index of the first call

	weft, sampleIndex, samples timeline.KeyID
}

// NewCalls returns Calls that adds to a target.
func NewCalls(t *Thread, to Target) *Calls {
	c := &Calls{
		Thread: t, to: to, category: []byte(Category), first: t.Event,
		places: make([][]byte, t.Profile.FunctionCount()), names: make([][]byte, t.Profile.FunctionCount()),
		members: make([][]byte, t.Profile.NodeCount()),
	}
	if t.Category != "" {
		c.category = []byte(t.Category)
	}
	c.weft, c.sampleIndex, c.samples = c.keyID("weft"), c.keyID("sampleIndex"), c.keyID("samples")
	return c
}

// keyID returns the id of an argument's name.
func (c *Calls) keyID(name string) timeline.KeyID {
	args := c.to.Args()
	args.Reset()
	args.Key([]byte(name))
	return args.KeyID()
}

// number adds a number to the dictionary that is open. The id of its key is 0 if the table of names is full.
func (c *Calls) number(id timeline.KeyID, name string, v int64) {
	if args := c.to.Args(); id != 0 {
		args.AddInt(id, v)
	} else {
		args.Key([]byte(name))
		args.Int(v)
	}
}

// Add adds a call. A Builder must get calls in the order of their creation (profilecalls.Call.Order): of calls at one time
// the first is the outermost. An Extension takes them as they come.
func (c *Calls) Add(call *profilecalls.Call) error {
	ts, length, ok := c.span(call.TS, call.Dur)
	if !ok {
		return nil
	}
	c.Added++
	f := c.Profile.Node(call.Node).Function
	if c.places[f] == nil {
		c.encodePlace(f)
	}
	c.out = timeline.Event{
		Kind: timeline.Slice, Track: c.Track, TS: ts, Dur: length,
		Name: c.names[f], Category: c.category, Args: c.args(call, c.places[f]),
	}
	c.Event = c.first + uint32(call.Order)
	return c.add(c.to, &c.out)
}

// encodePlace encodes what the calls of a function have in common: where it is defined, with lines and columns that count
// from 1.
func (c *Calls) encodePlace(f v8profile.FunctionIndex) {
	fn := c.Profile.Function(f)
	args := c.to.Args()
	args.Reset()
	keep := func(name string) bool { return c.KeepArg == nil || c.KeepArg([]byte(name)) }
	args.Correlate(fn.URL) // the functions of a script have one colour
	if fn.URL != "" && keep("url") {
		args.Key([]byte("url"))
		args.InternedString(fn.URL)
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
	first := c.members[call.Node] == nil
	if first {
		c.encodeMembers(call.Node)
	}
	args := c.to.Args()
	args.Load(place)
	if c.weft != 0 {
		args.KeyWithID(c.weft)
	} else {
		args.Key([]byte("weft"))
	}
	args.BeginDict()
	args.AddMembers(c.members[call.Node])
	sample := int64(-1)
	if call.Sample >= 0 {
		sample = int64(c.Profile.Index(call.Sample))
	}
	c.number(c.sampleIndex, "sampleIndex", sample)
	c.number(c.samples, "samples", call.Samples)
	if first {
		c.lineTicks(call.Node)
	}
	if len(call.Positions) > 0 {
		c.positions(call)
	}
	args.EndDict()
	return args.Args()
}

// encodeMembers encodes what all calls of a node have in common.
func (c *Calls) encodeMembers(n v8profile.NodeIndex) {
	fn := c.Profile.FunctionOf(n)
	args := c.to.Args()
	args.Reset()
	text := func(key, v string) {
		if v != "" {
			args.Key([]byte(key))
			args.InternedString(v)
		}
	}
	args.Key([]byte("weft"))
	args.BeginDict()
	text("profileId", c.ID)
	args.Key([]byte("nodeId"))
	args.Int(c.Profile.Node(n).ID)
	text("scriptId", fn.ScriptID)
	text("codeType", fn.CodeType)
	text("deoptReason", c.Profile.DeoptReason(n))
	c.members[n] = append([]byte{}, args.Members()...)
	args.EndDict()
}

// lineTicks adds the samples on each line of a node's function.
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

// positions adds where in the function of a call its samples were taken.
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
		c.number(c.samples, "samples", p.Samples)
		args.EndDict()
	}
	args.EndArray()
}
