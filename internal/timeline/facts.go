package timeline

import (
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
)

// Page is a document that was shown in a window of a browser (firefox.md 10).
type Page struct {
	Window   int64 // the inner window: each document has its own
	Tab      int64 // 0: unknown
	Embedder int64 // the inner window of the document around this one; 0: none
	URL      string
	Private  bool   // its window is a private one
	IDSpace  string // id space of its windows and its tab; "": the trace's own
}

// pageKey tells pages apart.
type pageKey struct {
	window  int64
	idSpace string
}

// AddPage adds a page. Of several pages of one window the last one counts.
func (b *Builder) AddPage(p Page) {
	n, ok := b.table.number(b.idSpaceName(p.IDSpace))
	if p.IDSpace = b.table.spaceName(n); !ok || !b.pages.set(pageKey{p.Window, p.IDSpace}, p) {
		b.opts.Problems.Add(problem.MetadataValueOmitted, problem.NoPosition, p.URL)
	}
}

// Pages returns the pages of the trace, in the order in which they were first added.
func (t *Timeline) Pages() []Page { return t.pages }

// FactKind says what a Fact is about. The numbers are written into files: they never change their meaning.
type FactKind uint8

// The kinds of facts.
const (
	FactCPU         FactKind = 1 // how much of a processor's time the thread used, in percent
	FactEventDelay  FactKind = 2 // how long the event that runs has kept others waiting, in ms
	FactCategory    FactKind = 3 // what the thread was doing: the name of a category of Firefox
	FactSubcategory FactKind = 4 // the subcategory of that
	lastFactKind             = FactSubcategory
)

// factKinds are the name and the unit of each kind, and whether its values are texts.
var factKinds = [...]struct {
	name, unit string
	isText     bool
}{
	FactCPU: {"CPU %", "%", false}, FactEventDelay: {"eventDelay", "ms", false},
	FactCategory: {roleNames[RoleCategories], "", true}, FactSubcategory: {"Sample subcategory", "", true},
}

// IsFactKind reports whether a number is a kind of facts.
func IsFactKind(n uint64) bool { return n >= 1 && n <= uint64(lastFactKind) }

// String returns the name of the kind, which is also the name of the track that shows such values where they change.
func (k FactKind) String() string { return factKinds[k].name }

// Unit returns the unit of the values.
func (k FactKind) Unit() string { return factKinds[k].unit }

// IsText reports whether the values are texts.
func (k FactKind) IsText() bool { return factKinds[k].isText }

// Fact is a value that all samples of a thread have, so that it has no track of its own.
type Fact struct {
	Kind       FactKind
	Number     Number // of kinds that have numbers
	Text       string // of kinds that have texts
	Samples    int64  // how many there are
	Start, End Nanos  // of these samples
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

// AddFact adds a fact about a thread. Of several of one kind the last one counts.
func (b *Builder) AddFact(thread TrackID, f Fact) {
	th := b.table.thread(b.sampleThread(thread))
	for i := range th.facts {
		if th.facts[i].Kind == f.Kind {
			th.facts[i] = f
			return
		}
	}
	th.facts = append(th.facts, f)
}
