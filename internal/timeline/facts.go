package timeline

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
)

// Page is a document shown in a browser window (firefox.md 10).
type Page struct {
	Window   int64 // inner window: each document has its own
	Tab      int64 // 0: unknown
	Embedder int64 // inner window of the embedding document; 0: none
	URL      string
	Private  bool   // in a private window
	IDSpace  string // id space of its windows and its tab; "": the trace's own
}

type pageKey struct {
	window  int64
	idSpace string
}

// AddPage adds a page. If several pages have the same window, the last one wins.
func (b *Builder) AddPage(p Page) {
	n, ok := b.table.number(b.idSpaceName(p.IDSpace))
	if p.IDSpace = b.table.spaceName(n); !ok || !b.pages.set(pageKey{p.Window, p.IDSpace}, p) {
		b.opts.Problems.Add(problem.MetadataValueOmitted, problem.NoPosition, p.URL)
	}
}

// Pages returns the pages in the order in which they were first added.
func (t *Timeline) Pages() []Page { return t.pages }

// FactKind is the subject of a Fact. Its numbers are written to files and must not change.
type FactKind uint8

// The kinds of facts.
const (
	FactCPU         FactKind = 1 // CPU usage of the thread, in percent
	FactEventDelay  FactKind = 2 // how long the running event has delayed others, in ms
	FactCategory    FactKind = 3 // what the thread was doing: a Firefox category
	FactSubcategory FactKind = 4 // its subcategory
	lastFactKind             = FactSubcategory
)

// factKinds lists the name and unit of each kind, and whether its values are text.
var factKinds = [...]struct {
	name, unit string
	isText     bool
}{
	FactCPU: {"CPU %", "%", false}, FactEventDelay: {"eventDelay", "ms", false},
	FactCategory: {roleNames[RoleCategories], "", true}, FactSubcategory: {"Sample subcategory", "", true},
}

// IsFactKind reports whether a number is a valid FactKind.
func IsFactKind(n uint64) bool { return n >= 1 && n <= uint64(lastFactKind) }

// String returns the name of the kind. It is also the name of the track that shows such values if they change.
func (k FactKind) String() string { return factKinds[k].name }

// Unit returns the unit of the values.
func (k FactKind) Unit() string { return factKinds[k].unit }

// IsText reports whether the values are text.
func (k FactKind) IsText() bool { return factKinds[k].isText }

// Fact is a value that all samples of a thread share and that therefore needs no track.
type Fact struct {
	Kind       FactKind
	Number     Number // for numeric kinds
	Text       string // for textual kinds
	Samples    int64  // number of samples
	Start, End Nanos  // time range of the samples
}

// Value returns the value as text.
func (f *Fact) Value() string {
	switch {
	case f.Kind.IsText():
		return f.Text
	case f.Number.IsInt():
		return strconv.FormatInt(f.Number.Int(), 10)
	}
	return strconv.FormatFloat(f.Number.Float(), 'g', -1, 64)
}

// AddFact adds a fact about a thread. The last fact of each kind wins.
func (b *Builder) AddFact(thread TrackID, f Fact) {
	th := b.table.thread(b.sampleThread(thread))
	if i := slices.IndexFunc(th.facts, func(g Fact) bool { return g.Kind == f.Kind }); i >= 0 {
		th.facts[i] = f
	} else {
		th.facts = append(th.facts, f)
	}
}
